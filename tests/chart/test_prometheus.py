"""A fragment's metrics through a real Prometheus are what the fragment itself says."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import start_http_server
from weir_operator.controller.observed_state import Process
from weir_operator.kube.metrics import DirectScrape, Prometheus
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.operators import Filter
from weir_runtime.metrics import Metrics

CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
- job_name: fragments
  static_configs: [{{targets: ["localhost:{port}"]}}]
"""
SPEC = FragmentSpec(
    name="q-f1-abcd", namespace="ns", query="q", node="n1", epoch=3,
    inputs=(Input("d", "source"),), operators=(Filter("f1", ("d",), cost=1.0),),
    output=Output("noop"), checkpoint="", lease="", state="",
)  # fmt: skip
RUNNING = Process("q-f1-abcd", 3, "n1", "n1", "running", 0.0)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def fragment() -> Iterator[int]:
    """The port of a fragment that has worked on five batches."""
    metrics = Metrics(SPEC)
    for batch in range(5):
        rows = {"d": {"rows": 100}, "f1": {"rows": 40}}
        progress = {"batchId": batch, "observedMetrics": rows, "durationMs": {"triggerExecution": 120}}
        metrics.progress({**progress, "stateOperators": []})
    port = free_port()
    server, thread = start_http_server(port, registry=metrics.registry)
    yield port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def prometheus(tmp_path: Path, fragment: int) -> Iterator[str]:
    """Its address."""
    (tmp_path / "prometheus.yml").write_text(CONFIG.format(port=fragment))
    port = free_port()
    process = subprocess.Popen(
        ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address=localhost:{port}"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield f"http://localhost:{port}"
    process.terminate()
    process.wait()


def test_both_ways_read_the_same(fragment: int, prometheus: str) -> None:
    direct = DirectScrape(lambda: {("q-f1-abcd", 3): f"localhost:{fragment}"}).read((RUNNING,))["q-f1-abcd"]
    server, deadline = Prometheus(prometheus), time.monotonic() + 60
    while not (samples := server.read((RUNNING,))):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert direct.batches == 5
    assert direct.operators["f1"].rows_out == 200
    scraped = samples["q-f1-abcd"]
    assert scraped.silent.keys() == direct.silent.keys() == {"d"}  # seconds that go on between the two
    assert replace(scraped, at=direct.at, silent=direct.silent) == direct
    assert server.read((replace(RUNNING, epoch=4),)) == {}  # of another epoch nothing was scraped
