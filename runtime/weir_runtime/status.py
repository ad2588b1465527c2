"""What a fragment's process says of itself: the state file, /metrics, /healthz, /readyz."""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from weir_runtime.names import write_whole

READY = ("standby-ready", "running")
UNHEALTHY = ("failed", "fenced")


class ProcessStatus:
    """The state file: replaced at every change."""

    def __init__(self, path: str, fragment: str, epoch: int) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self.fields: dict[str, Any] = {
            "fragment": fragment,
            "epoch": epoch,
            "phase": "starting",
            "pid": os.getpid(),
            "port": 0,
            "hash": "",
            "batch": -1,
            "error": "",
        }

    @property
    def phase(self) -> str:
        """Where the process is."""
        return str(self.fields["phase"])

    def say(self, **changes: Any) -> None:
        """Changes fields and writes them."""
        with self._lock:
            self.fields |= changes | {"at": time.time()}
            write_whole(self._path, json.dumps(self.fields))


def serve(status: ProcessStatus, registry: CollectorRegistry, port: int) -> int:
    """Answers on `port` (0: any free one) in a daemon thread; the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The three paths of docs/runtime.md."""
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path in ("/healthz", "/readyz"):
                ready = self.path == "/healthz" or status.phase in READY
                ok = ready and status.phase not in UNHEALTHY
                body = json.dumps(status.fields).encode()
                self._answer(200 if ok else 503, "application/json", body)
            else:
                self._answer(404, "text/plain", b"/metrics, /healthz, /readyz\n")

        def _answer(self, code: int, kind: str, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Scrapes are not news."""

    server = ThreadingHTTPServer(("", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True, name="http").start()
    return int(server.server_address[1])
