"""Drivers are asked for their metrics; one that answers nonsense, or without end, is left out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from weir_operator.controller.snapshot import Process
from weir_operator.kube import metrics
from weir_operator.kube.metrics import DirectScrape

GOOD = b'weir_batches_total{query="a/q",fragment="good"} 3\n'


@contextmanager
def driver(*parts: bytes, endless: bool = False) -> Iterator[str]:
    """The address of a server that sends these parts, again and again if `endless`."""
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                for part in parts:
                    self.wfile.write(part)
                while endless and not done.is_set():
                    self.wfile.write(b"x" * 4096)
            except OSError:
                pass  # the other side has had enough

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        done.set()
        server.shutdown()
        server.server_close()


def read(*addresses: str) -> dict[str, float]:
    found = {(f"f{n}", 1): address for n, address in enumerate(addresses)}
    processes = tuple(Process(name, epoch, "n", "n", "running", 0.0) for name, epoch in found)
    return {name: m.batches for name, m in DirectScrape(lambda: found).read(processes).items()}


def test_a_driver_that_answers_nonsense_hides_no_other() -> None:
    with driver(GOOD) as good, driver(b"}{ \xff", b"a b c d\n") as bad, driver(b"{\n") as worse:
        assert read(good, bad, worse, "127.0.0.1:1") == {"f0": 3.0}


def test_an_answer_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_PARTS", 4)
    with driver(GOOD) as good, driver(endless=True) as endless:
        assert read(good, endless) == {"f0": 3.0}
