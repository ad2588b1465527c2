"""Which rows of the sources a plan that ends at a cut still needs: none that is later, but where windows
group by a time that is older than its row's."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from weir_placement.fragments import overhang
from weir_placement.model.operators import Aggregate, Aggregation, Filter, Join, Operator, Window
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


def log(seed: int) -> pa.Table:
    chance = random.Random(seed)
    times = sorted(ORIGIN + chance.randrange(40 * SECOND) for _ in range(400))
    rows = [{"k": chance.randrange(3), "v": chance.randrange(10), "ts": time} for time in times]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def times(table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """[us]"""
    return pc.max_element_wise(
        *(table.column(name).cast(pa.timestamp("us")).cast(pa.int64()) for name in names)
    )


def up_to_the_cut(operators: Sequence[Operator], logs: Mapping[str, pa.Table]) -> pa.Table:
    table = batch(operators, {name: SourceRows(rows, "ts", 0) for name, rows in logs.items()})
    names = ["window.end"] if "window.end" in table.column_names else []
    names = names or [name for name in table.column_names if name.split(".")[-1] == "ts"]
    return table.filter(pc.less_equal(times(table, names), CUT))


@pytest.mark.parametrize("name", CASES)
def test_rows_up_to_a_cut_depend_on_no_later_ones(name: str) -> None:
    operators, ahead = CASES[name]
    assert overhang(operators) == ahead
    logs = {alias: log(i) for i, alias in enumerate("ab" if JOIN in operators else "a")}
    all_of = up_to_the_cut(operators, logs)
    assert all_of.num_rows
    for late, same in ((ahead, True), (ahead - 2 * SECOND, False)):
        until = pa.scalar(CUT + late, pa.timestamp("us", tz="UTC"))
        needed = {alias: rows.filter(pc.less_equal(rows.column("ts"), until)) for alias, rows in logs.items()}
        assert compare(all_of, up_to_the_cut(operators, needed)).good is same


def test_a_fragment_knows_it_of_its_own_windows() -> None:
    joined = join_clocking(JOIN, source_clocking("a", "ts"), source_clocking("b", "ts"))
    flow = Clocking.from_json(joined.to_json())
    assert look_ahead([COUNTED], {"g": flow}) == 2 * SECOND
    counted = aggregate_clocking(COUNTED, joined, 0)
    assert look_ahead([JOIN, COUNTED, ABOVE], {"g": joined, "m": counted}) == 3 * SECOND
    assert look_ahead([COUNT], {"g": source_clocking("a", "ts")}) == 0
    assert look_ahead([JOIN], {}) == 0
