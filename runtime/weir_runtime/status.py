"""The status of a fragment's process: the state file, /metrics, /healthz, /readyz."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from weir_runtime.names import write_whole

READY = ("standby-ready", "running")
UNHEALTHY = ("failed", "fenced")
AT_WORK = ("running", "draining")

STUCK = 600.0
"""[s] Longest time of a batch, or of a turn of the process's own loop: batches are bounded by bytes, so one
that takes longer waits for something that does not come, and beginning it again is what is left."""


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
            "refused": False,
            "waits": "",
        }
        self.longest = STUCK  # [s] of a batch
        self._begun = (-1, 0.0)  # the latest batch, and when it began [s, monotonic]
        self._allowance: Callable[[], float] = float
        self._turn = 0.0  # [s, monotonic]
        self._waits: dict[str, str] = {}  # what for -> in words
        self.paused = False

    @property
    def phase(self) -> str:
        """Where the process is."""
        return str(self.fields["phase"])

    def begin(self, batch: int, allowance: Callable[[], float] = float) -> None:
        """A batch begins to run; it ends when `say` says that it, or a later one, is committed. `allowance`:
        [s] that it may take now on top of `longest`."""
        self._allowance = allowance
        self._begun = (batch, time.monotonic())

    @property
    def under_way(self) -> bool:
        """Whether a batch has begun and is not known to be committed."""
        return self._begun[0] > int(self.fields["batch"])

    def beat(self) -> None:
        """The process's loop goes round."""
        self._turn = time.monotonic()

    def pause(self, paused: bool) -> None:
        """Whether the process stands still because nobody confirms its lease: that is no fault of its own."""
        self.paused = paused
        self._begun, self._turn = (self._begun[0], time.monotonic()), time.monotonic()

    def wait_for(self, what: str, why: str) -> None:
        """Says what the process waits for, in words; "" when it does no more."""
        self._waits = {**self._waits, what: why}
        self.say(waits="; ".join(filter(None, self._waits.values())))

    def hangs(self) -> str:
        """What makes no progress, in words; "" when all is well."""
        now, (batch, start) = time.monotonic(), self._begun
        if self.phase not in AT_WORK or self.paused:
            return ""
        longest = self.longest + self._allowance()
        if self.under_way and now - start > longest:
            return f"batch {batch} has been running for {now - start:.0f} s, longer than {longest:.0f} s"
        if self._turn and now - self._turn > STUCK:
            return f"the process has not looked at its query for {now - self._turn:.0f} s"
        return ""

    def say(self, **changes: Any) -> None:
        """Changes fields and writes them."""
        with self._lock:
            self.fields |= changes | {"at": time.time()}
            write_whole(self._path, json.dumps(self.fields))


def serve(status: ProcessStatus, registry: CollectorRegistry, port: int) -> int:
    """Answers on `port` (0: any free one) in a daemon thread; the port."""
    return int(open_server(status, registry, port).server_address[1])


def open_server(status: ProcessStatus, registry: CollectorRegistry, port: int) -> ThreadingHTTPServer:
    """The same, for whoever closes it again."""

    class StatusHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The three paths of docs/runtime.md."""
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(registry))
            elif self.path in ("/healthz", "/readyz"):
                ready, hangs = self.path == "/healthz" or status.phase in READY, status.hangs()
                ok = ready and status.phase not in UNHEALTHY and not hangs
                body = json.dumps({**status.fields, "error": status.fields["error"] or hangs}).encode()
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

    server = ThreadingHTTPServer(("", port), StatusHandler)
    threading.Thread(target=server.serve_forever, daemon=True, name="http").start()
    return server
