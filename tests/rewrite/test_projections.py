"""Projections pushed to the sources: only by legal swaps, and the rows stay."""

from __future__ import annotations

from random import Random

from weir_placement.bench.generator import random_query
from weir_placement.model.operators import Filter, Item, Project
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream
from weir_placement.rewrite.projections import pushed
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.shape import shape

from tests.cost.example import join
from tests.rewrite.random_queries import STREAMS, TIMES, query, rows
from tests.rewrite.rows import run


def test_the_form_is_one_that_moves_reach() -> None:
    changed = 0
    for seed in range(60):
        problem = random_query(seed, 1 + seed % 2, 5, 2)
        (written,) = problem.queries
        reached = {shape(plan) for plan in Rewriter(written, problem.streams).reachable(3_000)}
        for through_top in (True, False):
            form = pushed(written, problem.streams, through_top)
            assert shape(form) in reached, (seed, through_top)
            changed += form is not written
    assert changed > 20


def test_rows_stay() -> None:
    for seed in range(80):
        random = Random(seed)
        written, data = query(random).query, rows(random)
        for through_top in (True, False):
            assert run(pushed(written, STREAMS, through_top), data, TIMES) == run(written, data, TIMES), seed


def test_nothing_changes_without_a_projection_above_anything_or_in_a_fixed_order() -> None:
    problem = random_query(3, 1, 1, 2)
    (written,) = problem.queries
    assert pushed(written, problem.streams) is written
    assert pushed(written, problem.streams) is written


def test_what_a_renaming_projection_does_not_read_is_dropped_below_the_joins() -> None:
    """As of SQL: the projection stays, and each side of the join hands on what is read above, its key and
    its time."""
    columns = {name: Column(name, "BIGINT", 8) for name in ("k", "v", "wide")}
    streams = {
        f"d/{s}": Stream(
            f"d/{s}", 10.0, (*columns.values(), Column("ts", "TIMESTAMP", 8)), ("n",), 32.0, "ts"
        )
        for s in "ab"
    }
    written = Query(
        "d/q",
        {"a": "d/a", "b": "d/b"},
        (
            Filter("f", ("a",), ("a.v",), "a.v > 1"),
            join("j", "f", "b", "a.k", "b.k", 0.01),
            Project("p", ("j",), ("a.k", "b.v"), items=(Item("key", "a.k"), Item("v", "b.v + 1"))),
        ),
    )
    form = {op.id: op for op in pushed(written, streams).operators}
    assert form["p"] == written.operators[-1]
    left, right = (form[name] for name in form["j"].inputs)
    assert (left.kind, left.inputs, left.columns) == ("project", ("f",), ("a.k", "a.ts"))
    assert (right.kind, right.inputs, right.columns) == ("project", ("b",), ("b.k", "b.v", "b.ts"))
    assert left.origin == right.origin == ("p",)
    assert pushed(written, streams, through_top=False) == written
