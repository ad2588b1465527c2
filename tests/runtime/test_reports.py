"""What was committed since the last look, however much Spark has deleted meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.inputs import open_input
from weir_runtime.metrics import Metrics
from weir_runtime.reports import Reports
from weir_runtime.session import SETTINGS

from tests.runtime.support import ROOT, files_output, fragment, source


class NoProgress:
    def new(self) -> list[object]:
        return []


class ManyBatches:
    """A fragment's checkpoint: each batch reads a file in which one row is late."""

    def __init__(self, root: Path) -> None:
        spec = fragment(root, "f", [source("a", root / "a")], [], files_output(root / "out", "k"))
        self.checkpoint = Checkpoint(root / "checkpoint")
        self.metrics = Metrics(spec)
        item = open_input(spec.inputs[0], spec)
        assert item is not None
        self.reports = Reports([item], NoProgress(), self.checkpoint, self.metrics)

    def commit(self, batch: int) -> None:
        place = {"next": batch + 1, "max": 1, "late": batch + 1}
        end = {"input": "a", "at": place, "clock": 1, "ended": False, "settled": False, "tick": 0}
        for log, lines in (("offsets", ["v1", "{}", json.dumps(end)]), ("commits", ["v1", "{}"])):
            (self.checkpoint.folder / log).mkdir(parents=True, exist_ok=True)
            (self.checkpoint.folder / log / str(batch)).write_text("\n".join(lines))

    def delete(self, batches: range) -> None:
        """As Spark does with old ones."""
        for batch in batches:
            (self.checkpoint.folder / "offsets" / str(batch)).unlink()
            (self.checkpoint.folder / "commits" / str(batch)).unlink()

    @property
    def late(self) -> float | None:
        labels = self.metrics.of("a")
        return self.metrics.registry.get_sample_value("weir_late_rows_total", labels)


@pytest.fixture
def life(tmp_path: Path) -> ManyBatches:
    return ManyBatches(tmp_path)


def test_a_loop_that_stood_while_spark_deleted_what_it_saw_last_goes_on(life: ManyBatches) -> None:
    life.commit(0)
    assert life.reports.take() == 0
    for batch in range(1, 150):
        life.commit(batch)
    life.delete(range(49))
    assert life.reports.take() == 149
    assert life.late == 150


def test_offsets_that_go_between_two_looks_are_passed_over(
    life: ManyBatches, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        life.commit(batch)
    life.delete(range(2))
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "committed", lambda _: 1)  # as it was a moment ago
        assert life.reports.take() is None
    assert life.reports.take() == 2
    assert life.late == 3


def test_a_life_that_begins_counts_late_rows_without_a_look_at_their_files(
    life: ManyBatches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a query that has read 200,000 files it took 7 s at every start, and longer on a network's."""
    life.commit(199_999)
    with monkeypatch.context() as patch:
        for look in ("stat", "open", "exists", "glob", "iterdir"):
            real = getattr(Path, look)

            def watched(path: Path, *args: object, _real: object = real, **named: object) -> object:
                assert tmp_path / "late" not in (path, *path.parents)
                return _real(path, *args, **named)  # type: ignore[operator]

            patch.setattr(Path, look, watched)
        assert life.reports.take() == 199_999
    assert life.late == 200_000


def test_documents_say_for_how_many_batches_a_cut_is_there() -> None:
    kept = SETTINGS["spark.sql.streaming.minBatchesToRetain"]
    assert f"Spark keeps them for {kept} batches" in (ROOT / "docs/runtime.md").read_text().replace("\n", " ")
    assert f"the last {kept}" in (ROOT / "runtime/weir_runtime/snapshots/take.py").read_text()
