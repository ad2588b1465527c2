"""Aggregates over other aggregates' windows in one fragment, and rows that Spark drops as late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_placement.model.operators import Aggregate, Aggregation, Item, Operator, Project, Union
from weir_placement.model.waits import waits
from weir_runtime.dropped import RowsDropped
from weir_runtime.lease import FileLease
from weir_runtime.process import FragmentProcess

from tests.runtime.queries import check, cut
from tests.runtime.sessions import Run
from tests.runtime.support import sink_rows, source, write_log

SECOND = 1_000_000
COUNT = (Aggregation("n", "count", None),)
HIGHEST = (Aggregation("n", "max", "n"),)
COUNTED = Aggregate("c", ("a",), time="a.ts", window=4.0, slide=2.0, aggregations=COUNT)
OF_STARTS = Aggregate("m", ("c",), time="window.start", window=2.0, slide=2.0, aggregations=HIGHEST)
OF_ENDS = replace(OF_STARTS, time="window.end")
AGAIN = replace(OF_STARTS, id="r", inputs=("m",), window=6.0, slide=3.0)
COLUMNS = ["window.start", "window.end", "n"]


def log(folder: Path) -> Path:
    """Twelve batches of a second each: more rows from one to the next."""
    return write_log(folder, [[(0, i, n * SECOND + i) for i in range(n)] for n in range(1, 13)])


def test_windows_of_windows_wait_as_long_as_those_below_them() -> None:
    assert waits([COUNTED, OF_ENDS]) == {"c": 0, "m": 0}
    assert waits([COUNTED, OF_STARTS]) == {"c": 0, "m": 4 * SECOND}
    assert waits([COUNTED, OF_STARTS, AGAIN]) == {"c": 0, "m": 4 * SECOND, "r": 6 * SECOND}
    assert waits([COUNTED, OF_STARTS, replace(AGAIN, time="window.end")])["r"] == 4 * SECOND
    assert waits([OF_STARTS]) == {"m": 0}, "what other fragments are behind is taken from their clocks"


def test_a_time_keeps_its_wait_under_another_name_and_in_a_union() -> None:
    named = Project("p", ("c",), items=(Item("t", "window.`start`"), Item("n", "n")))
    other = Project("q", ("b",), items=(Item("t", "b.ts"), Item("n", "b.v")))
    union = Union("u", ("q", "p"))
    above = replace(OF_STARTS, inputs=("u",), time="t")
    assert waits([COUNTED, named, other, union, above])["m"] == 4 * SECOND


@pytest.mark.parametrize("most", [1, 64])
@pytest.mark.parametrize("operators", [[COUNTED, OF_STARTS], [COUNTED, OF_STARTS, AGAIN]])
def test_no_window_of_windows_is_lost(run: Run, tmp_path: Path, operators: list[Operator], most: int) -> None:
    result = check(run, tmp_path, [source("a", log(tmp_path / "a"))], operators, COLUMNS, max_batches=most)
    assert result.rows > 4


@pytest.mark.parametrize("most", [1, 64])
def test_windows_without_an_aggregate_are_the_groups_themselves(run: Run, tmp_path: Path, most: int) -> None:
    groups = replace(COUNTED, items=(Item("k", "a.v % 3"),), aggregations=())
    columns = ["window.start", "k"]
    result = check(run, tmp_path, [source("a", log(tmp_path / "a"))], [groups], columns, max_batches=most)
    assert result.rows > 12


def test_a_batch_that_lacks_rows_is_not_published(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the wait Spark drops the windows below as late: the query ends at the first of them."""
    monkeypatch.setattr("weir_runtime.compiler.waits", lambda operators: {op.id: 0 for op in operators})
    operators = [COUNTED, OF_STARTS]
    (spec,) = cut(tmp_path, [source("a", log(tmp_path / "a"))], operators, COLUMNS, max_batches=1)
    process = FragmentProcess(spec, FileLease(spec.lease))
    with pytest.raises(RowsDropped, match=r"batch \d+: Spark dropped rows as late: \d+ in operator m"):
        process.execute(spark)
    published = {row[:2]: row[2] for row in sink_rows(tmp_path / "out")}
    highest = {n: sum(range(max(1, n), min(12, n + 3) + 1)) for n in range(-2, 13, 2)}
    starts = {start.second - 20: n for (start, _), n in published.items()}
    assert all(highest[start] == n for start, n in starts.items())
