"""A host over HTTP: what its probes say, and the metrics of its fragments under one address."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from weir_runtime import host_status
from weir_runtime.host_status import HostStatus
from weir_runtime.metrics import Metrics

from tests.runtime.support import files_output, fragment, source


class ShownHost:
    """Of a host that runs what is put into it."""

    def __init__(self) -> None:
        self.fragments: dict[str, Metrics] = {}
        self.ready = False

    def state(self) -> Mapping[str, Any]:
        return {"fragments": {key: {"phase": "running"} for key in self.fragments}}

    def metrics(self) -> Mapping[str, Metrics]:
        return self.fragments

    def is_ready(self) -> bool:
        return self.ready


@pytest.fixture
def status() -> Iterator[HostStatus]:
    status = HostStatus(0)
    yield status
    status.close()


def ask(status: HostStatus, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{status.port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metrics(folder: Path, name: str, epoch: int = 1, batches: int = 0) -> Metrics:
    spec = fragment(folder, name, [source("a", folder / "a")], [], files_output(folder / "out"), epoch=epoch)
    result = Metrics(spec)
    result.batches.labels(**result.plain).inc(batches)
    result.last_batch = batches - 1
    return result


def batches(text: str) -> dict[str, float]:
    """By fragment."""
    families = text_string_to_metric_families(text)
    samples = [s for family in families for s in family.samples if s.name == "weir_batches_total"]
    assert len(samples) == len({s.labels["fragment"] for s in samples}), "one of each"
    return {s.labels["fragment"]: s.value for s in samples}


def test_it_is_alive_before_its_jvm_is_and_ready_with_its_lease(status: HostStatus) -> None:
    assert ask(status, "/healthz")[0] == 200
    assert ask(status, "/readyz")[0] == 503
    view = status.view = ShownHost()
    assert ask(status, "/readyz")[0] == 503
    view.ready = True
    assert ask(status, "/readyz")[0] == 200


def test_one_whose_loop_stands_still_is_not_alive(
    status: HostStatus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_status, "STUCK", -1.0)
    code, text = ask(status, "/healthz")
    assert (code, json.loads(text)["hangs"]) == (503, True)
    monkeypatch.undo()
    status.beat()
    assert ask(status, "/healthz")[0] == 200


def test_all_fragments_are_measured_together_and_each_alone(status: HostStatus, tmp_path: Path) -> None:
    view = status.view = ShownHost()
    view.fragments = {"f-e1": metrics(tmp_path, "f", batches=3), "g-e1": metrics(tmp_path, "g", batches=5)}
    assert batches(ask(status, "/metrics")[1]) == {"f": 3.0, "g": 5.0}
    assert batches(ask(status, "/fragments/g-e1/metrics")[1]) == {"g": 5.0}
    assert ask(status, "/fragments/h-e1/metrics") == (404, "no fragment h-e1")
    assert json.loads(ask(status, "/fragments")[1]) == view.state()


def test_of_two_epochs_the_one_that_publishes_is_measured(status: HostStatus, tmp_path: Path) -> None:
    view = status.view = ShownHost()
    view.fragments = {"f-e1": metrics(tmp_path, "f", 1, batches=3), "f-e2": metrics(tmp_path, "f", 2)}
    assert batches(ask(status, "/metrics")[1]) == {"f": 3.0}
    view.fragments = {"f-e1": metrics(tmp_path, "f", 1), "f-e2": metrics(tmp_path, "f", 2)}
    assert 'weir_epoch{fragment="f",query="default/q"} 2.0' in ask(status, "/metrics")[1]


def test_other_paths_are_told_which_there_are(status: HostStatus) -> None:
    code, text = ask(status, "/")
    assert code == 404
    assert "/fragments" in text
