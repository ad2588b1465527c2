"""A plan that fails gives way to an edit: what it has published is known from its checkpoint, whether or not
its query ever runs again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from weir_placement.model.change import Change
from weir_placement.model.fragment import FragmentError, FragmentSpec, Output
from weir_placement.model.location import Location
from weir_runtime.lease import FileLease
from weir_runtime.process import EXIT_TERMINATED, FragmentProcess
from weir_runtime.publish import OthersRows
from weir_runtime.results import Results

from tests.runtime.replayer import COLUMNS, COUNT, rows
from tests.runtime.sessions import Run
from tests.runtime.support import ORIGIN, append_batch, files_output, fragment, sink_rows, source
from tests.runtime.test_two_lives import Until, count, grow

SECOND = 1_000_000


def change_of(spec: FragmentSpec) -> Change | None:
    record = FileLease(spec.lease).read()
    assert record is not None
    return record.change


def fail(spec: FragmentSpec, spark: SparkSession, error: type[Exception]) -> None:
    """One life, which ends with an error."""
    with pytest.raises(error):
        FragmentProcess(spec, FileLease(spec.lease)).execute(spark)


def refused(run: Run, root: Path, after: int = 0) -> FragmentSpec:
    """A plan that never published: its sink has rows of another query."""
    grow(root / "a", range(3), end=True)
    run(count(root))
    output = replace(count(root).output, after=after)
    return fragment(root / "other", "g", [source("a", root / "a")], [COUNT], output, query="other")


def test_one_whose_sink_is_refused_gives_way_at_once(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    spec = refused(run, tmp_path)
    fail(spec, spark, OthersRows)
    FileLease(spec.lease).request_cut(20.0)
    fail(spec, spark, OthersRows)
    assert change_of(spec) == Change(20.0, 0, passed=True), "the next plan begins where this one began"


def strict(root: Path) -> FragmentSpec:
    """A windowed count that ends its process at a bad row."""
    item = replace(source("a", root / "a"), bad_rows={"onBadRow": "Fail"})
    return fragment(root, "g", [item], [COUNT], files_output(root / "out", *COLUMNS))


def test_one_that_fails_at_every_start_gives_way_when_nothing_is_left_to_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All windows up to the clock of its last batch are published, and no later one is."""
    spec = strict(tmp_path)
    grow(tmp_path / "a", range(3))
    assert Until(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    append_batch(tmp_path / "a", 3, [(1, 0, -ORIGIN)])
    fail(spec, spark, FragmentError)
    FileLease(spec.lease).request_cut(20.0)
    fail(spec, spark, FragmentError)
    change = change_of(spec)
    assert change is not None
    assert change.time is not None
    assert change.passed
    published = sink_rows(tmp_path / "out")
    assert published
    every = Counter((ORIGIN + t // SECOND * SECOND, k) for number in range(3) for k, _, t in rows(number))
    due = {(start, k, n) for (start, k), n in every.items() if start + SECOND <= change.time}
    assert {(int(start.timestamp() * 1e6), k, n) for start, k, n in published} == due


@pytest.mark.parametrize("standby", [False, True])
@pytest.mark.parametrize("refuses", ["inputs.open_input", "process.make_sink"])
def test_one_that_is_not_let_in_any_more_answers_by_what_it_has_left(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: str, standby: bool
) -> None:
    """As where a Secret is revoked, and the edit names another one. A pod that began as a standby keeps that
    in what it is told, also when it has had the lease for long."""
    spec = count(tmp_path)
    grow(tmp_path / "a", range(3))
    assert Until(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED

    def refuse(*_: object) -> None:
        raise FragmentError("kafka.security.secretRef: no key password in the secret revoked")

    monkeypatch.setattr(f"weir_runtime.{refuses}", refuse)
    FileLease(spec.lease).request_cut(20.0)
    fail(replace(spec, standby=standby), spark, FragmentError)
    change = change_of(spec)
    assert change is not None
    assert change.time is not None
    newest = max(int(start.timestamp() * 1e6) for start, *_ in sink_rows(tmp_path / "out"))
    assert change.time >= newest + SECOND, "no row that is published is the next plan's"


def test_one_behind_a_cut_whose_first_batch_fails_gives_way(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is planned, and cannot be computed."""
    output = replace(files_output(tmp_path / "out", "a.v"), after=ORIGIN)
    spec = fragment(tmp_path, "g", [source("a", tmp_path / "a")], [], output)
    grow(tmp_path / "a", range(3))

    def overflow(*_: object) -> None:
        raise ArithmeticError("overflow")

    monkeypatch.setattr(Results, "collect", overflow)
    fail(spec, spark, RuntimeError)
    FileLease(spec.lease).request_cut(20.0)
    fail(spec, spark, RuntimeError)
    assert change_of(spec) == Change(20.0, ORIGIN, passed=True)


class UntilPassed(FragmentProcess):
    """A life that is told to stop when it has said that its rows end."""

    def _must_go(self) -> bool:
        change = change_of(self.spec)
        if change is not None and change.passed:
            self.terminate.set()
        return super()._must_go()


def test_rows_that_the_sink_never_took_are_the_next_plan_s(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan without windows, whose rows are later than its clock, fails at the write, until it has none to
    write any more."""
    spec = fragment(
        tmp_path, "g", [source("a", tmp_path / "a", delay=SECOND)], [], files_output(tmp_path / "out", "a.v")
    )
    grow(tmp_path / "a", range(3))

    def refuse(*_: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("weir_runtime.sinks.pq.write_table", refuse)
        fail(spec, spark, RuntimeError)
        FileLease(spec.lease).request_cut(20.0)
        assert UntilPassed(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    assert change_of(spec) == Change(20.0, 0, passed=True)
    assert not sink_rows(tmp_path / "out")


POISON = 666


@pytest.fixture
def no_room_for_poison(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch to which a certain row comes fails, as one that has no room in the heap."""
    collect = Results.collect

    def with_room(self: Results, frame: DataFrame) -> pa.Table:
        table = collect(self, frame)
        if POISON in table.column("a.v").to_pylist():
            raise MemoryError("no room")
        return table

    monkeypatch.setattr(Results, "collect", with_room)


@pytest.mark.usefixtures("no_room_for_poison")
def test_one_that_fails_for_later_rows_publishes_those_up_to_the_cut(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its last batch is begun, and has a row that is still to be published beside one that it never will be:
    what is later than the cut is not read."""
    log = source("a", tmp_path / "a", delay=SECOND)
    spec = fragment(tmp_path, "g", [log], [], files_output(tmp_path / "out", "a.v"))
    grow(tmp_path / "a", range(3))
    assert Until(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    newest = rows(2)[-1][2]
    owed = [(0, 100, newest - SECOND // 2), (0, 101, newest)]
    append_batch(tmp_path / "a", 3, [*owed, (0, POISON, newest + 5 * SECOND)])
    fail(spec, spark, RuntimeError)
    FileLease(spec.lease).request_cut(20.0)
    assert UntilPassed(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    assert change_of(spec) == Change(20.0, ORIGIN + newest, passed=True)
    values = sorted(v for [v] in sink_rows(tmp_path / "out"))
    assert values == sorted([*(v for number in range(3) for _, v, _ in rows(number)), 100, 101])


@pytest.mark.usefixtures("no_room_for_poison")
def test_one_above_which_another_delivers_is_told_which_rows_nobody_needs(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = source("a", tmp_path / "a", delay=SECOND)
    flow = Output("exchange", flow=Location("folder", str(tmp_path / "flow")))
    spec = fragment(tmp_path, "g", [log], [], flow)
    append_batch(tmp_path / "a", 0, [(0, 100, 0), (0, POISON, 5 * SECOND)])
    (tmp_path / "a" / "END").touch()
    fail(spec, spark, RuntimeError)
    FileLease(spec.lease).request_cut(20.0, time=ORIGIN)
    assert FragmentProcess(spec, FileLease(spec.lease)).execute(spark) == 0
    batches = [pa.ipc.open_file(path).read_all() for path in sorted((tmp_path / "flow").glob("*.arrow"))]
    assert pa.concat_tables(batches).column("a.v").to_pylist() == [100]


def test_what_cannot_be_said_of_a_checkpoint_is_not_said(spark: SparkSession, tmp_path: Path) -> None:
    """One of a newer format: nobody knows what it has planned."""
    spec = strict(tmp_path)
    grow(tmp_path / "a", range(3))
    assert Until(spec, FileLease(spec.lease)).execute(spark) == EXIT_TERMINATED
    [folder] = [path for path in Path(spec.checkpoint).iterdir() if path.is_dir()]
    (folder / "numbering.json").write_text('{"format": 2, "numbering": "n", "spark": "4.2.0"}')
    FileLease(spec.lease).request_cut(20.0)
    fail(spec, spark, FragmentError)
    assert change_of(spec) == Change(20.0)
