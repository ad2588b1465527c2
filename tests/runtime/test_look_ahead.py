"""Which rows of the sources a plan needs that ends at a cut, or begins behind it: none that is later, but
where windows group by a time older than its row's; none that is further back than its windows reach."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from weir_placement.fragments import horizon, overhang
from weir_placement.model.operators import Aggregate, Aggregation, Filter, Join, Operator, Window
from weir_placement.model.problem import Query
from weir_runtime.audit import SourceRows, batch, compare
from weir_runtime.times import (
    Clocking,
    aggregate_clocking,
    join_clocking,
    look_ahead,
    source_clocking,
)

from tests.runtime.replayer import COUNT
from tests.runtime.support import ORIGIN, SCHEMA

SECOND = 1_000_000
CUT = ORIGIN + 20 * SECOND

WINDOW = Window("a", "b", -2 * SECOND, SECOND)
JOIN = Join("j", ("a", "b"), on="a.k = b.k", windows=(WINDOW,))
COUNTED = replace(COUNT, inputs=("j",))
SLIDING = replace(COUNT, window=2.0)
ABOVE = Aggregate(
    "m", ("g",), time="window.start", window=2.0, slide=2.0, aggregations=(Aggregation("n", "sum", "n"),)
)

CASES: dict[str, tuple[Sequence[Operator], int]] = {
    "nothing": ((), 0),
    "join": ((JOIN,), 0),
    "windows": ((Filter("f", ("a",), predicate="a.v > 2"), replace(COUNT, inputs=("f",))), 0),
    "windows by a side of a join": ((JOIN, COUNTED), 2 * SECOND),
    "windows of windows": ((SLIDING, ABOVE), 2 * SECOND),
    "windows of windows by a side of a join": ((JOIN, replace(SLIDING, inputs=("j",)), ABOVE), 4 * SECOND),
}


Comparison = Callable[[pa.ChunkedArray, int], pa.ChunkedArray]


def log(seed: int, count: int = 400) -> pa.Table:
    chance = random.Random(seed)
    times = sorted(ORIGIN + chance.randrange(40 * SECOND) for _ in range(count))
    rows = [{"k": chance.randrange(3), "v": chance.randrange(10), "ts": time} for time in times]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def times(table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """[us]"""
    return pc.max_element_wise(
        *(table.column(name).cast(pa.timestamp("us")).cast(pa.int64()) for name in names)
    )


def part(operators: Sequence[Operator], logs: Mapping[str, pa.Table], is_mine: Comparison) -> pa.Table:
    """The rows of a plan whose event times compare so with the cut."""
    table = batch(operators, {name: SourceRows(rows, "ts", 0) for name, rows in logs.items()})
    names = ["window.end"] if "window.end" in table.column_names else []
    names = names or [name for name in table.column_names if name.split(".")[-1] == "ts"]
    return table.filter(is_mine(times(table, names), CUT))


@pytest.mark.parametrize("name", CASES)
def test_rows_up_to_a_cut_depend_on_no_later_ones(name: str) -> None:
    operators, ahead = CASES[name]
    assert overhang(operators) == ahead
    logs = {alias: log(i) for i, alias in enumerate("ab" if JOIN in operators else "a")}
    all_of = part(operators, logs, pc.less_equal)
    assert all_of.num_rows
    for late, same in ((ahead, True), (ahead - 2 * SECOND, False)):
        until = pa.scalar(CUT + late, pa.timestamp("us", tz="UTC"))
        needed = {alias: rows.filter(pc.less_equal(rows.column("ts"), until)) for alias, rows in logs.items()}
        assert compare(all_of, part(operators, needed, pc.less_equal)).good is same


def near(left: str, right: str) -> Window:
    return Window(left, right, -3 * SECOND, 3 * SECOND)


JOINS = (
    Join("j1", ("a", "b"), on="a.k = b.k", windows=(near("a", "b"),)),
    Join("j2", ("c", "d"), on="c.k = d.k", windows=(near("c", "d"),)),
    Join("j3", ("j1", "j2"), on="b.k = c.k", windows=(near("b", "c"),)),
)


@pytest.mark.parametrize("name", [*CASES, "a join of joins"])
def test_rows_behind_a_cut_depend_on_none_before_the_horizon(name: str) -> None:
    operators, _ = CASES.get(name, (JOINS, 0))
    aliases = dict.fromkeys(source for op in operators for source in op.inputs if source in "abcd") or "a"
    logs = {alias: log(i, 150 if operators is JOINS else 400) for i, alias in enumerate(aliases)}
    all_of = part(operators, logs, pc.greater)
    assert all_of.num_rows
    first = CUT - horizon(Query("default/q", {alias: alias for alias in aliases}, tuple(operators)))
    bound = pa.scalar(first, pa.timestamp("us", tz="UTC"))
    needed = {alias: rows.filter(pc.greater(rows.column("ts"), bound)) for alias, rows in logs.items()}
    assert compare(all_of, part(operators, needed, pc.greater)).good


def test_a_fragment_knows_it_of_its_own_windows() -> None:
    joined = join_clocking(JOIN, source_clocking("a", "ts"), source_clocking("b", "ts"))
    flow = Clocking.from_json(joined.to_json())
    assert look_ahead([COUNTED], {"g": flow}) == 2 * SECOND
    counted = aggregate_clocking(COUNTED, joined, 0)
    assert look_ahead([JOIN, COUNTED, ABOVE], {"g": joined, "m": counted}) == 3 * SECOND
    assert look_ahead([COUNT], {"g": source_clocking("a", "ts")}) == 0
    assert look_ahead([JOIN], {}) == 0
