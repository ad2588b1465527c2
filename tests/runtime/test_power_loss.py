"""A loss of power leaves of each file what was synced; the fragment goes on from there, right to the row."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec
from weir_runtime import checkpoint, durable, names, process, publish
from weir_runtime import sinks as writer
from weir_runtime.faults import POINTS
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess

from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, files_output, fragment, source

BATCH = ("before-plan", "after-plan", "before-temporary", "after-temporary")
BATCH += ("before-publish", "after-publish", "before-commit")


class SafeDisk:
    """What has been synced of checkpoint and sink: files with their content then; all else there is empty
    after a loss. (What readers write, which are processes of their own, is written by `write_whole` too.)"""

    def __init__(self, root: Path) -> None:
        self._folders = [root / "checkpoints", root / "out"]
        self._inodes: dict[int, bytes] = {}

    def sync(self, path: Path) -> None:
        """As `durable.sync`; a file that is renamed or linked afterwards keeps its content."""
        if path.is_file():
            self._inodes[path.stat().st_ino] = path.read_bytes()

    def lose_power(self) -> int:
        """Empties what was not synced; how many files that are."""
        files = [file for folder in self._folders for file in folder.rglob("*") if file.is_file()]
        lost = [file for file in files if file.stat().st_ino not in self._inodes]
        for file in lost:
            file.write_bytes(b"")
        return len(lost)


@pytest.fixture
def until(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Callable[[FragmentSpec, str, SafeDisk], None]:
    """Runs a life until it reaches a point for the second time, at which the power goes."""

    class NoPower(Exception):
        pass

    def run_until(spec: FragmentSpec, point: str, disk: SafeDisk) -> None:
        times = 0

        def reach(here: str) -> None:
            nonlocal times
            times += here == point
            if times == 2:
                raise NoPower(point)

        class LosingLife(FragmentProcess):
            def _must_go(self) -> bool:
                assert self.status.fields["batch"] < 9, f"{point} was not reached twice"
                return super()._must_go()

        with monkeypatch.context() as patch:
            for module in (process, publish, writer):
                patch.setattr(module, "reach", reach)
            for module in (names, publish, checkpoint):
                patch.setattr(module, "sync", disk.sync)
            with pytest.raises(RuntimeError, match="NoPower"):
                LosingLife(spec, FileLease(spec.lease)).execute(spark)
            for query in spark.streams.active:
                query.stop()

    return run_until


def test_every_point_of_a_batch_is_known() -> None:
    assert set(BATCH) <= set(POINTS)


@pytest.mark.parametrize("point", BATCH)
def test_a_loss_of_power_in_a_batch_loses_and_doubles_nothing(
    until: Callable[[FragmentSpec, str, SafeDisk], None], run: Run, tmp_path: Path, point: str
) -> None:
    for number in range(8):
        append_batch(tmp_path / "a", number, rows(number))
    item = source("a", tmp_path / "a")
    spec = fragment(
        tmp_path / "f", "g", [item], [COUNT], files_output(tmp_path / "f/out", *COLUMNS), max_batches=1
    )
    disk = SafeDisk(tmp_path / "f")
    until(spec, point, disk)
    assert disk.lose_power() > 0 or point in BATCH[2:], "what the batch is made from is not synced yet"
    shutil.rmtree(tmp_path / "f/leases")
    for number in range(8, 10):
        append_batch(tmp_path / "a", number, rows(number))
    (tmp_path / "a/END").touch()
    run(spec)
    audit = verdict(tmp_path / "f", [item], [COUNT], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"


def test_what_is_synced_is_on_the_disk_before_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order: list[str] = []
    link = os.link
    monkeypatch.setattr(publish, "sync", lambda path: order.append(f"sync {path.name}"))
    monkeypatch.setattr(os, "link", lambda a, b: (order.append("link"), link(a, b)))
    (tmp_path / "t").write_text("rows")
    assert publish.put_once(tmp_path / "t", tmp_path / "final", lambda: None)
    assert order == ["sync t", "link", f"sync {tmp_path.name}"]
    assert durable.sync(tmp_path / "final") is None
