"""Which plans moves reach, what their operators are called, and what they are estimated to do."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import prod
from random import Random

import pytest
from weir_placement.cost.rules import RULES as COSTS
from weir_placement.model.operators import Filter, Join, Union, Window
from weir_placement.model.problem import Query
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.shape import shape
from weir_placement.rewrite.sql import query_from_sql

from tests.rewrite.random_queries import STREAMS, query

CHAIN = """SELECT a.x AS x FROM s a, t b, u c WHERE a.k = b.k AND b.m = c.w
  AND a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL 5 SECONDS
  AND c.at BETWEEN b.ts - INTERVAL 3 SECONDS AND b.ts + INTERVAL 3 SECONDS"""
STAR = """SELECT a.x AS x FROM s a, t b, s c WHERE a.k = b.k AND b.k = c.k
  AND a.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL 5 SECONDS
  AND c.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL 5 SECONDS
  AND a.ts BETWEEN c.ts - INTERVAL 5 SECONDS AND c.ts + INTERVAL 5 SECONDS"""


def plans(sql: str) -> list[Query]:
    written = query_from_sql("d/q", sql, STREAMS)
    return list(Rewriter(written, STREAMS).reachable())


def orders(queries: list[Query]) -> set[frozenset[str]]:
    """The sets of sources that the lower joins of the plans join."""
    result = set()
    for plan in queries:
        lower = next(o for o in plan.operators if isinstance(o, Join))
        result.add(frozenset(w for window in lower.windows for w in (window.left, window.right)))
    return result


def test_no_cross_products() -> None:
    assert orders(plans(CHAIN)) == {frozenset("ab"), frozenset("bc")}


def test_transitive_equalities_join_directly_where_a_window_is_written() -> None:
    reachable = plans(STAR)
    assert orders(reachable) == {frozenset("ab"), frozenset("bc"), frozenset("ac")}
    (implied,) = {
        o.on
        for p in reachable
        for o in p.operators
        if isinstance(o, Join) and {w.left + w.right for w in o.windows} in ({"ac"}, {"ca"})
    }
    assert implied == "a.k = c.k"


def test_a_reassociated_join_checks_every_pairwise_window() -> None:
    for plan in plans(STAR):
        joins = [o for o in plan.operators if isinstance(o, Join)]
        pairs = [frozenset([w.left, w.right]) for o in joins for w in o.windows]
        assert sorted(map(sorted, pairs)) == [["a", "b"], ["a", "c"], ["b", "c"]]
        assert sum(len(o.on.split(" AND ")) for o in joins) == 2, "the third equality is implied"


def rate(plan: Query, name: str, rates: dict[str, float]) -> float:
    """The output rate of an operator by the formulas of model.md section 2."""
    if name in plan.sources:
        return rates[plan.sources[name]]
    (operator,) = [o for o in plan.operators if o.id == name]
    inputs = [rate(plan, i, rates) for i in operator.inputs]
    if isinstance(operator, Join):
        return 2 * operator.half_width * operator.selectivity * prod(inputs)
    return inputs[0] * (operator.selectivity if isinstance(operator, Filter) else 1.0)


def test_the_rate_of_the_result_does_not_depend_on_the_order() -> None:
    rates = {name: stream.rate for name, stream in STREAMS.items()}
    for sql in (CHAIN, CHAIN + " AND a.x = 1 AND b.y > 0"):
        results = {round(rate(p, p.operators[-1].id, rates), 9) for p in plans(sql)}
        assert len(results) == 1


def test_order_fixed_leaves_the_plan_as_written() -> None:
    written = replace(query_from_sql("d/q", CHAIN, STREAMS), fixed_order=True)
    assert list(Rewriter(written, STREAMS).reachable()) == [written]


def test_ids_stay_and_new_operators_say_where_they_come_from() -> None:
    written = query_from_sql("d/q", CHAIN + " AND a.x = 1", STREAMS)
    operators = {o.id: o for o in written.operators}
    for plan in Rewriter(written, STREAMS).reachable():
        ids = [o.id for o in plan.operators]
        assert len(set(ids)) == len(ids)
        for operator in plan.operators:
            if operator.id in operators:
                assert operator.kind == operators[operator.id].kind
            else:
                assert operator.origin
                assert set(operator.origin) <= set(operators)


@pytest.mark.parametrize("seed", range(30))
def test_plans_are_told_apart(seed: int) -> None:
    written = query(Random(seed)).query
    reachable = list(islice(Rewriter(written, STREAMS).reachable(), 60))
    assert len({shape(p) for p in reachable}) == len(reachable)
    for plan in reachable:
        process = set(plan.sources)
        for operator in plan.operators:
            assert set(operator.inputs) <= process, "topological order"
            process.add(operator.id)
            assert operator.kind in COSTS


def test_an_equality_of_unlike_types_is_not_transitive() -> None:
    """BIGINT = DOUBLE holds for numbers that differ, so a third column does not follow."""
    sql = STAR.replace("b.k = c.k", "b.k = c.m").replace("s c", "u c").replace("c.ts", "c.at")
    assert frozenset("ac") not in orders(plans(sql))


def test_an_operator_with_two_readers_stays() -> None:
    window = (Window("a", "b", -5, 5),)
    shared = Query(
        "d/q",
        {"a": "d/s", "b": "d/t", "c": "d/s"},
        (
            Filter("f1", ("a",), ("a.x",), "a.x = 1"),
            Filter("f2", ("f1",), ("a.k",), "a.k = 1"),
            Join("j1", ("f2", "b"), ("a.k", "b.k"), on="a.k = b.k", windows=window),
            Filter("f3", ("f1",), ("a.m",), "a.m = 1"),
            Union("u1", ("f2", "f3")),
        ),
    )
    for plan in Rewriter(shared, STREAMS).reachable():
        (first,) = [o for o in plan.operators if o.id == "f1"]
        assert first.inputs == ("a",)
