"""The proof's space: a small query is optimised over everything that legal swaps reach."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.bench.generator import random_query
from weir_placement.cost.evaluation import equal
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Join, Project
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.report import report
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.rewrite.sql import query_from_sql
from weir_placement.strategies import STRATEGIES

from tests.rewrite.written import STREAMS
from tests.search.placements import best_placement

GROUPED = (
    "SELECT a.m AS m, count(*) AS n FROM s a, t b WHERE a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL 5 SECONDS "
    "AND b.ts + INTERVAL 5 SECONDS GROUP BY a.m, WINDOW(a.ts, '10 seconds')"
)


def best_of_all(problem: Problem) -> float:
    """Every logical plan of the rewriter, every placement, by the plain evaluation."""
    (query,) = problem.queries
    forms = (replace(problem, queries=(q,)) for q in Rewriter(query, problem.streams).reachable())
    return max(best_placement(form) for form in forms)


def test_auto_proves_the_optimum_over_every_swap() -> None:
    swapped = 0
    for seed in range(24):
        problem = random_query(seed, 1 + seed % 2, 4, 2)
        for name in ("auto", "exact"):
            result = STRATEGIES[name].plan(
                problem, objective="headroom", seed=seed, time_limit=20.0, options={}
            )
            assert result.value is not None
            assert result.proven, (seed, name)
            assert equal(result.value, best_of_all(problem)), (seed, name)
            swapped += result.space is Space.ALL
    assert swapped > 10


def test_without_projections_compiled_swaps_reach_the_optimum_of_all_plans() -> None:
    compared = 0
    for seed in range(60):
        problem = random_query(seed, 1 + seed % 3, 4, 2)
        if any(isinstance(op, Project) for op in problem.queries[0].operators):
            continue
        compared += 1
        result = STRATEGIES["exhaustive"].plan(
            problem, objective="headroom", seed=1, time_limit=20.0, options={}
        )
        assert result.value is not None
        assert equal(result.value, best_of_all(problem)), seed
    assert compared >= 4


def test_what_a_join_costs_goes_with_its_windows_in_every_order() -> None:
    """Two joins that differ in memory, which one of two nodes has little of."""
    problem = random_query(10, 3, 4, 2)
    nodes = tuple(replace(n, memory=room) for n, room in zip(problem.cluster.nodes, (11e3, 3e3), strict=True))
    (query,) = problem.queries
    memory = {"o0": 50.0, "o1": 5000.0}
    operators = tuple(replace(op, memory=memory.get(op.id, 0.0)) for op in query.operators)
    query = replace(query, operators=operators)
    problem = replace(problem, cluster=replace(problem.cluster, nodes=nodes), queries=(query,))
    of_windows = {op.windows: op.memory for op in operators if isinstance(op, Join)}
    for each in Rewriter(query, problem.streams).reachable():
        assert all(op.memory == of_windows[op.windows] for op in each.operators if isinstance(op, Join))
    result = STRATEGIES["auto"].plan(problem, objective="headroom", seed=1, time_limit=10.0, options={})
    assert result.proven
    assert result.value is not None
    assert equal(result.value, best_of_all(problem))


def test_a_large_query_says_that_its_proof_is_over_swaps() -> None:
    problem = random_query(5, 5, 16, 6)
    result = STRATEGIES["auto"].plan(problem, objective="headroom", seed=1, time_limit=10.0, options={})
    assert not result.proven, "a part of the plans is left out"
    assert result.proven_within is Space.PUSHED
    shown = report(problem, result)
    assert (shown["proven"], shown["provenWithin"]) == (False, Space.PUSHED.words)


def test_columns_may_be_dropped_below_a_join_under_an_aggregate() -> None:
    """A legal swap; compiled ones do not, so they prove nothing about all plans."""
    query = query_from_sql("d/q", GROUPED, STREAMS)
    query = replace(query, operators=query.operators[:-1])  # ends with the aggregate
    cluster = Cluster((Node("n1", 0.02), Node("n2", 0.006)), Network.uniform(2, 0.01))
    problem = Problem(cluster, STREAMS, (query,))
    result = STRATEGIES["exhaustive"].plan(problem, objective="headroom", seed=1, time_limit=10.0, options={})
    assert len(list(Rewriter(query, problem.streams).reachable())) > 1
    assert (result.proven, result.proven_within) == (False, Space.KEPT)
    assert STRATEGIES["auto"].plan(problem, objective="headroom", seed=1, time_limit=10.0, options={}).proven
