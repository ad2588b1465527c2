"""The proof's space: a small query is optimised over everything that Table 6 reaches."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.bench.generator import random_query
from weir_placement.cost.evaluation import equal
from weir_placement.model.operators import Project
from weir_placement.model.problem import Problem
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.search.spaces import ALL, PUSHED
from weir_placement.strategies import STRATEGIES

from tests.search.placements import best_placement


def best_of_all(problem: Problem) -> float:
    """Every logical plan of the rewriter, every placement, by the plain evaluation."""
    (query,) = problem.queries
    forms = (replace(problem, queries=(q,)) for q in Rewriter(query, problem.streams).reachable())
    return max(best_placement(form) for form in forms)


def test_auto_proves_the_optimum_over_all_of_table_6() -> None:
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
            swapped += result.extra["space"] == ALL
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


def test_a_large_query_says_that_its_proof_is_over_swaps() -> None:
    problem = random_query(5, 5, 16, 6)
    result = STRATEGIES["auto"].plan(problem, objective="headroom", seed=1, time_limit=10.0, options={})
    assert result.extra["space"] == PUSHED
