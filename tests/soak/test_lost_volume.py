"""The volume of a checkpoint is gone while its fragment runs, and comes back: nothing is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.operators import Filter
from weir_runtime import process
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess

from tests.runtime.queries import verdict
from tests.runtime.replayer import rows
from tests.runtime.support import (
    append_batch,
    files_output,
    fragment,
    launch,
    sink_rows,
    source,
    state,
    wait_for,
    write_log,
)

COLUMNS = ("a.k", "a.v", "a.ts")
EVERY = Filter("f", ("a",), predicate="a.v >= 0")
"""Its rows are published with the batch that reads them."""


def settled(spec: FragmentSpec) -> bool:
    """Whether all that is there is done, and the process has said so."""
    checkpoint = Checkpoint(Path(spec.checkpoint) / state(spec)["hash"])
    last = checkpoint.committed()
    end = checkpoint.offsets(last).get("a")
    return end is not None and end["at"]["next"] == 2 and end["settled"] and state(spec)["batch"] == last


def test_a_checkpoint_that_is_gone_while_a_fragment_runs(tmp_path: Path) -> None:
    """Spark makes the folder again and goes on: the offsets of what it then publishes would not be in the
    checkpoint that comes back, where the same number gets other rows, to be dropped as a replay."""
    log, away = tmp_path / "a", tmp_path / "away"
    item = source("a", log)
    spec = fragment(tmp_path, "g", [item], [EVERY], files_output(tmp_path / "out", *COLUMNS))
    append_batch(log, 0, rows(0))
    append_batch(log, 1, rows(1))
    life = launch(spec)
    try:
        wait_for(lambda: bool(sink_rows(tmp_path / "out")), "the first rows", 300)
        wait_for(lambda: settled(spec), "what is there is done", 60)
        before = sink_rows(tmp_path / "out")
        Path(spec.checkpoint).rename(away)
        append_batch(log, 2, rows(2))
        assert life.wait(60) == 1, f"published {len(sink_rows(tmp_path / 'out')) - len(before)} rows"
    finally:
        life.kill()
    assert sink_rows(tmp_path / "out") == before, "nothing that the checkpoint does not know is published"
    shutil.rmtree(spec.checkpoint, ignore_errors=True)
    away.rename(spec.checkpoint)
    append_batch(log, 3, rows(3))
    (log / "END").touch()
    assert launch(spec).wait(300) == 0
    audit = verdict(tmp_path, [item], [EVERY], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"


def test_no_batch_is_published_without_its_checkpoint(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is gone while the second batch runs; what Spark has made in its place has the batch's offsets."""
    log = write_log(tmp_path / "a", [rows(0), rows(1)])
    sink = files_output(tmp_path / "out", *COLUMNS)
    spec = fragment(tmp_path, "g", [source("a", log)], [EVERY], sink, max_batches=1)
    batches = 0

    def lose(point: str) -> None:
        nonlocal batches
        batches += point == "after-plan"
        if point == "after-plan" and batches == 2:
            (folder,) = (path for path in Path(spec.checkpoint).iterdir() if path.is_dir())
            folder.rename(tmp_path / "away")
            shutil.copytree(tmp_path / "away" / "offsets", folder / "offsets")

    monkeypatch.setattr(process, "reach", lose)
    with pytest.raises(RuntimeError, match="not the one that this process began with"):
        FragmentProcess(spec, FileLease(spec.lease)).execute(spark)
    assert len(sink_rows(tmp_path / "out")) == len(rows(0))
