"""The operator's own small server: /healthz, /readyz, /metrics."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from weir_operator.kube.liveness import Liveness


def serve(port: int, liveness: Liveness, registry: CollectorRegistry) -> ThreadingHTTPServer:
    """Serve in a separate thread, so that it answers even when everything else hangs."""

    class ProbeHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                complaint = liveness.complaint()
                self._answer(503 if complaint else 200, (complaint or "ok").encode())
            elif self.path == "/readyz":
                self._answer(200 if liveness.ready else 503, b"ready" if liveness.ready else b"starting")
            else:
                self._answer(404, b"paths: /healthz, /readyz, /metrics")

        def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: probes come every few seconds."""

    server = ThreadingHTTPServer(("", port), ProbeHandler)
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    return server
