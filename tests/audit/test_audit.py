"""The audit finds each sort of fault, leaves out what is late, and agrees with plain Python."""

from collections import Counter
from datetime import UTC, datetime
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.operators import (
    Aggregate,
    Aggregation,
    Filter,
    Item,
    Join,
    Project,
    Union,
    Window,
)
from weir_runtime.audit import SourceRows, batch, compare

SECOND = 1_000_000


def log(rows: list[tuple[int, int | None]], delay: float = 1e6) -> SourceRows:
    """Rows of (event time [s], key)."""
    times = pa.array([t * SECOND for t, _ in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return SourceRows(
        pa.table({"ts": times, "k": pa.array([k for _, k in rows], pa.int64())}), "ts", int(delay * 1e6)
    )


ROWS = st.lists(st.tuples(st.integers(1, 30), st.one_of(st.none(), st.integers(0, 3))), max_size=12)


@given(ROWS, ROWS, st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_window_join_is_what_two_loops_give(
    left: list[tuple[int, int | None]], right: list[tuple[int, int | None]], below: int, above: int
) -> None:
    window = Window("a", "b", -below * SECOND, above * SECOND)
    join = Join("j", ("a", "b"), on="a.k = b.k", windows=(window,))
    result = batch([join], {"a": log(left), "b": log(right)})
    expected = Counter(
        (t, k, u, m)
        for (t, k), (u, m) in product(left, right)
        if k is not None and k == m and -below <= t - u <= above
    )
    assert _seconds(result) == expected


@given(ROWS, st.sampled_from([(4, 4), (6, 2), (5, 3)]))
@settings(max_examples=60, deadline=None)
def test_windows_are_those_that_hold_the_time(
    rows: list[tuple[int, int | None]], shape: tuple[int, int]
) -> None:
    length, slide = shape
    operator = Aggregate(
        "g",
        ("a",),
        items=(Item("key", "a.k"),),
        time="a.ts",
        window=length,
        slide=slide,
        aggregations=(Aggregation("n", "count", None), Aggregation("total", "sum", "a.k")),
    )
    result = batch([operator], {"a": log(rows)})
    groups: dict[tuple[int, int | None], list[int | None]] = {}
    for t, k in rows:
        for start in range(-60, 60, slide):
            if start <= t < start + length:
                groups.setdefault((start, k), []).append(k)
    expected = Counter(
        (start, start + length, k, len(ks), None if k is None else sum(x for x in ks if x is not None))
        for (start, k), ks in groups.items()
    )
    assert _seconds(result) == expected


def test_late_rows_are_left_out_by_the_order_of_the_log() -> None:
    rows = [(10, 1), (7, 2), (8, 3), (20, 4), (17, 5), (18, 6)]
    keep = Filter("f", ("a",), predicate="a.k > 0", columns=("a.k",))
    result = batch([keep], {"a": log(rows, delay=2)})
    assert result.column("a.k").to_pylist() == [1, 3, 4, 6]


def test_projections_and_unions() -> None:
    first = Project("p", ("a",), items=(Item("x", "a.k * 2"), Item("y", "CASE WHEN a.k > 1 THEN 'big' END")))
    second = Project("q", ("b",), items=(Item("x", "b.k"), Item("y", "'b'")))
    union = Union("u", ("p", "q"))
    result = batch([first, second, union], {"a": log([(1, 1), (2, 2)]), "b": log([(1, 7)])})
    assert Counter(zip(*[c.to_pylist() for c in result.columns], strict=True)) == Counter(
        [(2, None), (4, "big"), (7, "b")]
    )


@pytest.mark.parametrize(
    ("actual", "counts"),
    [
        ([1, 2, 2, 3], (0, 0, 0)),
        ([3, 2, 1, 2], (0, 0, 0)),
        ([1, 2, 3], (1, 0, 0)),
        ([1, 2, 2, 3, 3], (0, 1, 0)),
        ([1, 2, 2, 3, 9], (0, 0, 1)),
        ([1, 2, 9], (2, 0, 1)),
        ([], (4, 0, 0)),
    ],
)
def test_each_sort_of_fault_is_counted(actual: list[int], counts: tuple[int, int, int]) -> None:
    verdict = compare(pa.table({"x": pa.array([1, 2, 2, 3])}), pa.table({"x": pa.array(actual, pa.int64())}))
    assert (verdict.missing, verdict.doubled, verdict.wrong) == counts
    assert verdict.good == (counts == (0, 0, 0))
    assert str(verdict) == "missing {}, doubled {}, wrong {}".format(*counts)


def test_sums_in_another_order_are_the_same_and_other_numbers_are_not() -> None:
    expected = pa.table({"k": ["a", "b"], "x": [0.1 + 0.2 + 0.3, 1.0]})
    assert compare(expected, pa.table({"k": ["a", "b"], "x": [0.3 + 0.2 + 0.1, 1.0]})).good
    verdict = compare(expected, pa.table({"k": ["a", "b"], "x": [0.6000001, 1.0]}))
    assert (verdict.missing, verdict.wrong) == (1, 1)


def test_zones_of_instants_do_not_matter() -> None:
    at = datetime(2013, 1, 1, 5, tzinfo=UTC)
    utc, naive = (
        pa.array([at], pa.timestamp("us", "UTC")),
        pa.array([at.replace(tzinfo=None)], pa.timestamp("us")),
    )
    assert compare(pa.table({"t": utc}), pa.table({"t": naive})).good


def _seconds(table: pa.Table) -> Counter[tuple[int | None, ...]]:
    columns = [
        [v // SECOND for v in c.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()]
        if pa.types.is_timestamp(c.type)
        else [None if v is None else int(v) for v in c.to_pylist()]
        for c in table.columns
    ]
    return Counter(zip(*columns, strict=True))
