"""Drivers are asked for their metrics; one that answers nonsense, or without end, is left out."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from weir_operator.controller.observed_state import FragmentMetrics, Process
from weir_operator.kube import metrics
from weir_operator.kube.metrics import DirectScrape, Prometheus

GOOD = b'weir_batches_total{query="a/q",fragment="good"} 3\n'


@contextmanager
def driver(*parts: bytes, endless: bool = False) -> Iterator[str]:
    """The address of a server that sends these parts, again and again if `endless`."""
    process = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                for part in parts:
                    self.wfile.write(part)
                while endless and not process.is_set():
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
        process.set()
        server.shutdown()
        server.server_close()


def read(*addresses: str) -> dict[str, float]:
    addresses_by_process = {(f"f{n}", 1): address for n, address in enumerate(addresses)}
    processes = tuple(Process(name, epoch, "n", "n", "running", 0.0) for name, epoch in addresses_by_process)
    return {name: m.batches for name, m in DirectScrape(lambda: addresses_by_process).read(processes).items()}


def test_a_driver_that_answers_nonsense_hides_no_other() -> None:
    with driver(GOOD) as good, driver(b"}{ \xff", b"a b c d\n") as bad, driver(b"{\n") as worse:
        assert read(good, bad, worse, "127.0.0.1:1") == {"f0": 3.0}


def test_drivers_that_cannot_be_reached_hold_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, each up to its time-out, a thousand of them would take longer than a round may."""
    queries: list[str] = []
    cut_off = threading.Event()

    def one(self: DirectScrape, process: Process, address: str) -> FragmentMetrics | None:
        queries.append(process.fragment)
        if address == "cut off":
            assert cut_off.wait(60)
            return None
        return FragmentMetrics(process.fragment, process.epoch, 0.0)

    monkeypatch.setattr(DirectScrape, "_one", one)
    addresses = {(f"f{n}", 1): "cut off" if n < 8 else "near" for n in range(12)}
    processes = tuple(Process(name, epoch, "n", "n", "running", 0.0) for name, epoch in addresses)
    scrape = DirectScrape(lambda: addresses, threads=4, patience=0.05)
    assert scrape.read(processes) == {}
    assert len(queries) == 4, "the others were not tried any more"
    cut_off.set()
    patient = DirectScrape(lambda: addresses, threads=4, patience=60.0)
    near = {f"f{n}" for n in range(8, 12)}
    assert set(patient.read(processes)) == near
    queries.clear()
    assert set(patient.read(processes)) == near
    assert set(queries[:4]) == near, "who did not answer is asked last"


@pytest.mark.parametrize(
    "answer",
    [
        b"{}",
        b"not json",
        b'{"data": {"result": [{"metric": {"__name__": "weir_epoch"}, "value": [0, "NaN"]}]}}',
    ],
    ids=["empty", "text", "nan"],
)
def test_a_prometheus_that_answers_nonsense_measures_nothing(answer: bytes) -> None:
    with driver(answer) as address:
        assert Prometheus(f"http://{address}").read(()) == {}


def test_a_prometheus_that_does_not_answer_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "WAIT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert Prometheus(f"http://127.0.0.1:{silent.getsockname()[1]}").read(()) == {}


def test_an_answer_without_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_PARTS", 4)
    with driver(GOOD) as good, driver(endless=True) as endless:
        assert read(good, endless) == {"f0": 3.0}
