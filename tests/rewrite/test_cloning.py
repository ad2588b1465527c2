"""Cloned operators give the rows of the one that they stand for: shown on random rows."""

from __future__ import annotations

from random import Random

import pytest
from weir_placement.model.expressions import parse_predicate, source_types
from weir_placement.model.operators import Filter, Join, Window
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream
from weir_placement.rewrite.cloning import clone

from tests.rewrite.random_queries import STREAMS, TIMES, query, rows
from tests.rewrite.rows import run


@pytest.mark.parametrize("count", [2, 3])
def test_rows_stay(count: int) -> None:
    compared: dict[str, int] = {}
    for seed in range(60):
        random = Random(seed)
        written, data = query(random).query, rows(random)
        for op in written.operators:
            cloned = clone(written, STREAMS, op.id, count, 1.0, 1.0)
            if cloned is not None:
                compared[op.kind] = compared.get(op.kind, 0) + 1
                assert run(cloned, data, TIMES) == run(written, data, TIMES), (seed, op)
    assert min(compared[kind] for kind in ("filter", "join", "aggregate")) > 5, compared


def test_two_operators_of_a_plan_can_be_cloned() -> None:
    for seed in range(30):
        random = Random(seed)
        written, data = query(random).query, rows(random)
        cloned = written
        for op in written.operators:
            cloned = clone(cloned, STREAMS, op.id, 2, 1.0, 1.0) or cloned
        assert run(cloned, data, TIMES) == run(written, data, TIMES), seed


def test_what_splits_the_rows_is_a_predicate_that_users_could_write() -> None:
    for kind in ("INT", "BIGINT", "STRING", "TIMESTAMP"):
        stream = Stream("d/s", 1, (Column("x", kind, 8),), ("n",), 8)
        written = Query("d/q", {"a": "d/s"}, (Filter("f", ("a",), ("a.x",), "a.x IS NULL"),))
        cloned = clone(written, {"d/s": stream}, "f", 2, 1.0, 1.0)
        assert cloned is not None, kind
        for op in cloned.operators:
            if isinstance(op, Filter):
                parse_predicate(op.predicate, source_types({"a": stream}))


def test_a_join_of_unlike_types_or_without_an_equality_is_not_cloned() -> None:
    window = (Window("a", "b", -5, 5),)
    sources = {"a": "d/s", "b": "d/u"}
    for on, columns in (("a.m = b.m", ("a.m", "b.m")), ("", ()), ("a.k < b.k", ("a.k", "b.k"))):
        join = Join("j", ("a", "b"), columns, on=on, windows=window)
        assert clone(Query("d/q", sources, (join,)), STREAMS, "j", 2, 1.0, 1.0) is None, on


def test_what_a_join_reads_is_not_cloned() -> None:
    """The runtime takes no union as a side of a window join."""
    window = (Window("a", "b", -5, 5),)
    below = Filter("f", ("a",), ("a.k",), "a.k > 1")
    join = Join("j", ("f", "b"), ("a.k", "b.k"), on="a.k = b.k", windows=window)
    above = Filter("g", ("j",), ("b.k",), "b.k > 2")
    written = Query("d/q", {"a": "d/s", "b": "d/u"}, (below, join, above))
    assert clone(written, STREAMS, "f", 2, 1.0, 1.0) is None
    assert clone(written, STREAMS, "j", 2, 1.0, 1.0) is not None
    assert clone(written, STREAMS, "g", 2, 1.0, 1.0) is not None
