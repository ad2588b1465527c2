"""One space, one answer: what is proved does not depend on how the query was written."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Join, Operator
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem, Query
from weir_placement.model.space import Space
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.sql import query_from_sql
from weir_placement.search import forms
from weir_placement.strategies import STRATEGIES

from tests.rewrite.written import STREAMS, sql
from tests.search.placements import best_placement

CLUSTER = Cluster((Node("n1", 0.02), Node("n2", 0.006), Node("n3", 0.01)), Network.uniform(3, 0.01))
PAIRS = {"ab": 5, "bc": 3, "ac": 2}
FILTERS = " AND a.m = 3 AND c.m > 7"
OTHERS = ("exhaustive", "annealing", "tabu", "reactive-tabu", "two-phase", "greedy")


def problem(*queries: Query, nodes: int = 3) -> Problem:
    cluster = Cluster(CLUSTER.nodes[:nodes], Network.uniform(nodes, 0.01))
    return Problem(cluster, STREAMS, queries)


def plan(p: Problem, name: str = "auto", objective: str = "headroom") -> Result:
    result = STRATEGIES[name].plan(p, objective=objective, seed=1, time_limit=20.0, options={})
    if objective == "headroom":
        evaluation = evaluate(p, result.plan)
        assert evaluation.headroom is not None
        assert result.value is not None
        assert equal(evaluation.headroom, result.value), "the plan that comes out is the plan that was valued"
    return result


def query(order: str = "abc", equal_keys: tuple[str, ...] = ("ab", "bc"), joined: bool = False) -> Query:
    return query_from_sql("d/q", sql(order, equal_keys, PAIRS, joined) + FILTERS, STREAMS)


def without_projections(written: Query) -> Query:
    return replace(written, operators=written.operators[:-1])


@pytest.mark.parametrize("order", ["abc", "acb", "bca"])
def test_the_optimum_over_all_orders_and_placements_is_found_and_proved(order: str) -> None:
    p = problem(without_projections(query(order)), nodes=2)
    (written,) = p.queries
    every = Rewriter(written, STREAMS).reachable()
    best = max(best_placement(replace(p, queries=(each,))) for each in every)
    for name in ("auto", "exact", "exhaustive"):
        result = plan(p, name)
        assert result.value == pytest.approx(best), name
        assert result.proven
        assert result.space is Space.ALL


def test_every_order_of_from_and_every_join_tree_gives_one_headroom() -> None:
    values, usages = set(), set()
    for order in permutations("abc"):
        for joined in (False, True):
            for keys in (("ab", "bc"), ("ac", "cb"), ("ab", "ac"), ("bc", "ac", "ab")):
                written = query("".join(order), keys, joined)
                result = plan(problem(written))
                assert not result.proven
                assert result.proven_within is Space.PUSHED
                values.add(round(result.value or 0, 9))
                usages.add(round(plan(problem(written), "exact-dp", "network-usage").value or 0, 6))
    assert len(values) == 1, values
    assert len(usages) == 1, usages


@given(st.permutations("abcd"), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=15, deadline=None)
def test_nothing_beats_a_proved_plan_however_the_query_is_written(order, random, joined) -> None:
    windows = {"ab": 5, "bc": 3, "ac": 4, "cd": 2, "bd": 6, "ad": 5}
    pairs = random.sample(list(windows.items()), len(windows))
    keys = random.sample(["ab", "bc", "cd"], 3)
    turned = tuple(random.choice([k, k[::-1]]) for k in keys)
    written = query_from_sql("d/q", sql("".join(order), turned, dict(pairs), joined), STREAMS)
    reference = query_from_sql("d/q", sql("abcd", ("ab", "bc", "cd"), windows), STREAMS)
    first = plan(problem(reference))
    result = plan(problem(written))
    for each in (result, first):
        assert not each.proven
        assert each.proven_within is Space.PUSHED
    assert result.value == pytest.approx(first.value)
    for name in OTHERS:
        other = plan(problem(written), name)
        assert other.value is not None
        assert other.value <= result.value * (1 + 1e-8), name


def test_names_of_streams_and_the_order_of_branches_do_not_matter() -> None:
    values = set()
    one, two = sql("abc", ("ab", "bc"), PAIRS) + FILTERS, sql("bca", ("ac", "bc"), PAIRS)
    for branches in ((one, two), (two, one)):
        for names in ({}, {"d/s": "d/z", "d/t": "d/y"}):
            streams = {names.get(n, n): replace(s, name=names.get(n, n)) for n, s in STREAMS.items()}
            text = " UNION ALL ".join(branches)
            for old, new in names.items():
                text = text.replace(f" {old[2:]} ", f" {new[2:]} ")
            p = replace(problem(query_from_sql("d/q", text, streams), nodes=2), streams=streams)
            result = plan(p, "exact")
            assert result.bound is not None
            values.add((round(result.value or 0, 6), result.proven, result.proven_within))
    assert len(values) == 1, values


def test_joins_that_are_not_alike_keep_their_streams_and_nothing_is_called_proved() -> None:
    """A pinned join is the one that was written: on the streams that it was written for."""
    written = query()
    many = [
        op if not isinstance(op, Join) else replace(op, cost=5.0 * n)
        for n, op in enumerate(written.operators, 1)
    ]
    operators: tuple[Operator, ...] = tuple(many)
    result = plan(problem(replace(written, operators=operators)))
    assert result.space is Space.SOME_JOINS
    assert not result.proven
    assert result.bound is None


def test_a_scan_that_is_given_up_counts_in_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = []

    def given_up(p: Problem, best: Result, most: int, deadline: float) -> Result:
        start = perf_counter()
        while perf_counter() < start + 2 * best.seconds:
            pass
        scans.append(perf_counter() - start)
        return best

    monkeypatch.setattr(forms, "over_every_swap", given_up)
    options = {"small": "40"}
    result = STRATEGIES["auto"].plan(
        problem(query()), objective="headroom", seed=1, time_limit=9.0, options=options
    )
    assert len(scans) == 1
    assert result.seconds >= scans[0]
