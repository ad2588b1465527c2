"""A source from which nothing comes is seen: its windows stay open, and no error says why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from weir_placement.model.fragment import Input
from weir_placement.model.location import Location
from weir_runtime.metrics import Metrics

from tests.runtime.support import files_output, fragment, source


def silent(metrics: Metrics) -> dict[str, float]:
    """By input, as it is scraped."""
    families = text_string_to_metric_families(generate_latest(metrics.registry).decode())
    return {
        sample.labels["operator"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "weir_silent_seconds"
    }


def progress(batch: int, **rows: int) -> dict[str, object]:
    observed = {name: {"rows": count} for name, count in rows.items()}
    return {"batchId": batch, "observedMetrics": observed, "durationMs": {}, "stateOperators": []}


def test_only_rows_end_the_silence_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches without rows, which carry the clock, do not; another fragment's flow is not looked at."""
    now = [time.monotonic()]
    monkeypatch.setattr("weir_runtime.metrics.time.monotonic", lambda: now[0])
    flow = Input("c", "exchange", flow=Location("folder", str(tmp_path)))
    inputs = [source("a", tmp_path / "a"), source("b", tmp_path / "b"), flow]
    metrics = Metrics(fragment(tmp_path, "f", inputs, [], files_output(tmp_path / "out", "k")))
    now[0] += 50
    metrics.progress(progress(0, a=3, b=0, c=5))
    now[0] += 20
    metrics.progress(progress(1, a=0, b=0, c=5))
    assert silent(metrics) == {"a": 20, "b": 70}
    metrics.ended("b")
    assert silent(metrics) == {"a": 20, "b": 0}
