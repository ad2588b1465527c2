"""A loss of power leaves of each file what was synced; the fragment goes on from there, right to the row."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest
from pyspark.sql import SparkSession
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.location import Location
from weir_runtime import durable, inputs, process, publish
from weir_runtime.exchanges import writer_of
from weir_runtime.faults import POINTS
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources import source_log

from tests.runtime.flows import COUNTED, FILTER
from tests.runtime.queries import verdict
from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.safe_disk import SafeDisk, syncing_modules
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, files_output, fragment, rows_of, source

BATCH = ("before-plan", "after-plan", "before-temporary", "after-temporary")
BATCH += ("before-publish", "after-publish", "before-commit")

LIFE_ENDS = Callable[[FragmentSpec, str, SafeDisk], None]


@pytest.fixture
def until(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> LIFE_ENDS:
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
            for module in (process, publish):
                patch.setattr(module, "reach", reach)
            for module in syncing_modules():
                patch.setattr(module, "sync", disk.sync)
            patch.setattr(inputs, "open_input", disk.open_input)
            with pytest.raises(RuntimeError, match="NoPower"):
                LosingLife(spec, FileLease(spec.lease)).execute(spark)
            for query in spark.streams.active:
                query.stop()

    return run_until


def disk_of(root: Path) -> SafeDisk:
    return SafeDisk(root / "synced", tuple(root / name for name in ("checkpoints", "out", "late")))


def with_a_late_row(number: int) -> list[tuple[int, int, int]]:
    return [*rows(number), (0, 99, number * 2_000_000 - 1_500_000)]


def late_of(life: FragmentProcess) -> float | None:
    labels = life.metrics.of("a")
    return life.metrics.registry.get_sample_value("weir_late_rows_total", labels)


def test_every_point_of_a_batch_is_known() -> None:
    assert set(BATCH) <= set(POINTS)


@pytest.mark.parametrize("point", BATCH)
def test_a_loss_of_power_in_a_batch_loses_and_doubles_nothing(
    until: LIFE_ENDS, run: Run, tmp_path: Path, point: str
) -> None:
    for number in range(8):
        append_batch(tmp_path / "a", number, with_a_late_row(number))
    item = source("a", tmp_path / "a")
    spec = fragment(
        tmp_path / "f", "g", [item], [COUNT], files_output(tmp_path / "f/out", *COLUMNS), max_batches=1
    )
    disk = disk_of(tmp_path / "f")
    until(spec, point, disk)
    assert disk.lose_power() > 0 or point in BATCH[2:], "what the batch is made from is not synced yet"
    shutil.rmtree(tmp_path / "f/leases")
    for number in range(8, 10):
        append_batch(tmp_path / "a", number, with_a_late_row(number))
    (tmp_path / "a/END").touch()
    life = run(spec)
    audit = verdict(tmp_path / "f", [item], [COUNT], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"
    files = [pa.OSFile(str(file)) for file in (tmp_path / "f/late/g/a").glob("*.arrow")]
    assert sum(pa.ipc.open_file(file).read_all().num_rows for file in files) == late_of(life) == 10


@pytest.mark.parametrize("point", ["before-plan", "before-commit"])
def test_a_loss_of_power_leaves_what_a_reader_reads_again(
    until: LIFE_ENDS, run: Run, tmp_path: Path, point: str
) -> None:
    """The producer keeps nothing, and lives on: it deletes what its reader has said that it has passed."""
    for number in range(6):
        append_batch(tmp_path / "a", number, rows(number))
    (tmp_path / "a/END").touch()
    item = source("a", tmp_path / "a")
    flow = Output("exchange", flow=Location("folder", str(tmp_path / "flow")), consumers=("f-g",))
    producer = fragment(tmp_path, "f-f", [item], [FILTER], flow, max_batches=1)
    run(producer)
    reads = Input("f", "exchange", flow=flow.flow)
    output = files_output(tmp_path / "out", *COLUMNS)
    reader = fragment(tmp_path, "f-g", [reads], [COUNTED], output, max_batches=1)
    disk = disk_of(tmp_path)
    until(reader, point, disk)
    disk.lose_power()
    writer_of(producer).delete_consumed()
    shutil.rmtree(tmp_path / "leases")
    run(reader)
    audit = verdict(tmp_path, [item], [FILTER, COUNTED], COLUMNS)
    assert audit.good, f"{audit} {audit.examples}"


def test_a_position_is_made_known_when_a_later_batch_is_published(tmp_path: Path) -> None:
    """Spark tells a source of a commit when it plans the next batch; whether that commit is on the disk is
    known when the batch after it comes. While nothing comes it may tell of the same one again."""
    log = source_log(source("a", tmp_path / "a"), "")
    positions: list[int] = []
    log.committed = lambda place: positions.append(place["next"])  # type: ignore[method-assign]
    reader = WeirStreamReader(log, "a", Control(tmp_path), 64)
    for number in (3, 4, 4, 4, 5):
        reader.commit({"at": {"next": number}, "tick": 0})
    assert positions == [3, 4]


def test_a_torn_side_log_of_an_earlier_version_stops_no_query(tmp_path: Path) -> None:
    """That version did not sync late rows; what stands in the place is not counted from files."""
    for number in range(3):
        append_batch(tmp_path / "a", number, with_a_late_row(number))
    (tmp_path / "a/END").touch()
    torn = tmp_path / "late/g/a/0000000007.arrow"
    torn.parent.mkdir(parents=True)
    torn.touch()
    log = source_log(source("a", tmp_path / "a"), str(torn.parent))
    end = log.advance(log.start(), 0, 64).place
    assert len(rows_of(log, log.start(), end)) == 3
    assert log.late(None, end) == 3
    assert log.late(None, {"next": 8, "max": 1}) == 0


def test_what_is_synced_is_on_the_disk_before_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    order: list[str] = []
    link = os.link
    monkeypatch.setattr(publish, "sync", lambda path: order.append(f"sync {path.name[:6]}"))
    monkeypatch.setattr(os, "link", lambda a, b: (order.append("link"), link(a, b)))
    assert publish.put_once(tmp_path / "final", lambda path: path.write_text("rows"), lambda: None)[1]
    assert order == ["sync .final", "link", f"sync {tmp_path.name[:6]}"]
    assert durable.sync(tmp_path / "final") is None
