"""A running plan is left for one with other operators: rows up to the cut are the old plan's, later ones the
new one's, whenever either is killed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from weir_placement.fragments import horizon
from weir_placement.model.change import Change
from weir_placement.model.fragment import FragmentSpec, Input
from weir_placement.model.operators import Aggregate, Filter, Item, Join, Operator, Project, Window
from weir_placement.model.problem import Query
from weir_runtime import change, process, publish
from weir_runtime.audit import SourceRows, Verdict, batch, compare
from weir_runtime.change import Share
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess
from weir_runtime.sources import source_log
from weir_runtime.sources.files import FileLog

from tests.runtime.replayer import COUNT
from tests.runtime.sessions import Run
from tests.runtime.support import append_batch, files_output, fragment, sink_rows, source

SECOND = 1_000_000
DELAY = 2 * SECOND
OLD_DIES = ("after-temporary", "after-publish", "before-commit")
NEW_DIES = ("before-publish", "before-commit")
Rows = list[tuple[int, int, int]]


class Killed(Exception):
    """The process dies here."""


class StoppableLife(FragmentProcess):
    """A fragment that ends gracefully when `enough` says so."""

    def __init__(self, spec: FragmentSpec, enough: Callable[[], bool]) -> None:
        super().__init__(spec, FileLease(spec.lease))
        self.enough = enough

    def _must_go(self) -> bool:
        if self.enough():
            self.terminate.set()
        return super()._must_go()


def has_read(spec: FragmentSpec, files: int) -> bool:
    """Whether a committed batch reaches so far into every log, and one without rows came after it."""
    folders = [path for path in Path(spec.checkpoint).glob("*") if path.is_dir()]
    ends = [Checkpoint(f).offsets(Checkpoint(f).committed()) for f in folders]
    return any(
        end and all(e["at"]["next"] >= files and (e["settled"] or e["ended"]) for e in end.values())
        for end in ends
    )


@pytest.fixture
def kill(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Runs a life that is killed at a point, or has read all files; whether it was killed."""

    def run_until(spec: FragmentSpec, point: str, files: int) -> bool:
        def reach(here: str) -> None:
            if here == point:
                raise Killed(point)

        with monkeypatch.context() as patch:
            for module in (change, process, publish):
                patch.setattr(module, "reach", reach)
            died = []
            try:
                StoppableLife(spec, lambda: has_read(spec, files)).execute(spark)
            except (Killed, RuntimeError) as error:
                died = [str(error)]
            for query in spark.streams.active:
                query.stop()
        assert all(point in text for text in died)
        return bool(died)

    return run_until


def log_rows(seed: int, seconds: int) -> list[Rows]:
    """A batch a second of five rows, each up to DELAY out of order."""
    chance = random.Random(seed)
    return [
        [
            (
                chance.randrange(3),
                chance.randrange(10),
                (s + 3) * SECOND + i * 200_000 - chance.randrange(DELAY),
            )
            for i in range(5)
        ]
        for s in range(seconds)
    ]


def feed(folder: Path, batches: Sequence[Rows], first: int, beyond: int, end: bool = False) -> None:
    for number in range(first, beyond):
        append_batch(folder, number, batches[number])
    if end:
        (folder / "END").touch()


def end_of(operators: Sequence[Operator], rows: pa.Table) -> pa.ChunkedArray:
    """[us] What a row belongs to a plan by: its window's end, or the latest of its sources' times."""
    names = (
        ["window.end"]
        if isinstance(operators[-1], Aggregate)
        else [n for n in rows.column_names if n[-3:] == ".ts"]
    )
    times = [rows.column(name).cast(pa.timestamp("us")).cast(pa.int64()) for name in names]
    return pc.max_element_wise(*times)


def judge(old: FragmentSpec, new: FragmentSpec, cut: int, columns: Sequence[str]) -> Verdict:
    """The sink against the batch rows of the old plan up to the cut and of the new one after it."""
    parts = []
    for spec, mine in ((old, pc.less_equal), (new, pc.greater)):
        logs = {item.name: source_log(replace(item, after=0), "") for item in spec.inputs}
        assert all(isinstance(log, FileLog) for log in logs.values())
        sources = {name: SourceRows(log.whole(), "ts", DELAY) for name, log in logs.items()}  # type: ignore[attr-defined]
        rows = batch(spec.operators, sources)
        parts.append(rows.filter(mine(end_of(spec.operators, rows), cut)).select(columns))
    assert all(part.num_rows for part in parts), "both plans have a part"
    actual = [dict(zip(columns, row, strict=True)) for row in sink_rows(Path(new.output.uri))]
    expected = pa.concat_tables(parts)
    return compare(expected, pa.Table.from_pylist(actual, schema=expected.schema))


def successor(old: FragmentSpec, operators: Sequence[Operator], cut: int) -> FragmentSpec:
    """The new plan's fragment as the controller makes it."""
    root = Path(old.checkpoint).parents[1]
    query = Query("default/q", {item.name: item.stream for item in old.inputs}, tuple(operators))
    inputs = [replace(item, after=max(1, cut - horizon(query))) for item in old.inputs]
    return fragment(root, "new", inputs, operators, replace(old.output, after=cut), max_batches=1)


def join(on: Sequence[str], inputs: tuple[str, str], name: str) -> Operator:
    windows = {"ab": Window("a", "b", -SECOND, SECOND), "bc": Window("b", "c", -SECOND, 2 * SECOND)}
    return Join(name, inputs, on=" AND ".join(f"{w[0]}.k = {w[1]}.k" for w in on),
                    windows=tuple(windows[w] for w in on))  # fmt: skip


def project(names: str, above: str) -> Operator:
    items = tuple(Item(f"{n}.{c}", f"{n}.{c}") for n in names for c in ("k", "v", "ts"))
    return Project("p", (above,), items=items)


CASES: dict[str, tuple[str, tuple[Operator, ...], tuple[Operator, ...], list[str]]] = {
    "join order": (
        "abc",
        (join(["ab"], ("a", "b"), "j1"), join(["bc"], ("j1", "c"), "j2"), project("abc", "j2")),
        (join(["bc"], ("b", "c"), "j1"), join(["ab"], ("a", "j1"), "j2"), project("abc", "j2")),
        [f"{n}.{c}" for n in "abc" for c in ("k", "v", "ts")],
    ),
    "predicate": (
        "a",
        (Filter("f", ("a",), predicate="a.v > 2"), replace(COUNT, inputs=("f",), window=2.0)),
        (Filter("f", ("a",), predicate="a.v > 6"), replace(COUNT, inputs=("f",), window=2.0)),
        ["window.start", "window.end", "k", "n"],
    ),
}


def change_of(spec: FragmentSpec) -> Change:
    record = FileLease(spec.lease).read()
    assert record is not None
    assert record.change is not None
    return record.change


@pytest.mark.parametrize("name", CASES)
def test_both_plans_together_give_each_row_once_whenever_they_are_killed(
    spark: SparkSession,
    run: Run,
    kill: Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    """The cut lies two seconds ahead: the old plan still has rows to publish, and rows to hold back."""
    now = Share._cut
    monkeypatch.setattr(Share, "_cut", lambda self, lead: now(self, 0.0) + round(lead * SECOND))
    aliases, before, after, columns = CASES[name]
    logs = {alias: log_rows(i, 14) for i, alias in enumerate(aliases)}
    inputs: list[Input] = [source(alias, tmp_path / alias, delay=DELAY) for alias in aliases]
    output = files_output(tmp_path / "out", *columns)
    old = fragment(tmp_path, "old", inputs, before, output, max_batches=1, trigger_ms=0)
    for alias, rows in logs.items():
        feed(tmp_path / alias, rows, 0, 7)
    assert not kill(old, "nowhere", 7)

    FileLease(old.lease).request_cut(2.0)
    assert kill(old, "before-agree", 7)
    assert change_of(old).time is None
    assert kill(old, "after-agree", 7)
    cut = change_of(old).time
    assert cut is not None
    killed = set()
    for files, point in enumerate(OLD_DIES, 8):
        for alias, rows in logs.items():
            feed(tmp_path / alias, rows, files - 1, files)
        killed |= {("old", point)} if kill(old, point, files) else set()
    new = successor(old, after, cut)
    for files, point in enumerate(NEW_DIES, 9):
        killed |= {("new", point)} if kill(new, point, files) else set()
    assert {plan for plan, _ in killed} == {"old", "new"}
    for alias, rows in logs.items():
        feed(tmp_path / alias, rows, 10, 14, end=True)
    assert kill(old, "after-pass", 14)
    assert change_of(old) == Change(2.0, cut, passed=True), "agreed once and for ever"
    run(old)  # nothing of what it still reads is published
    run(new)
    result = judge(old, new, cut, columns)
    assert result.good, f"{result} {result.examples}"
