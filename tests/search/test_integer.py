"""Programs that ask whether some plan carries x: their plans are real, and their "no" holds for all."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
from weir_placement.bench.generator import random_query
from weir_placement.bench.limited import LIMITS, limited_queries
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Problem
from weir_placement.search.integer import Questions
from weir_placement.strategies import STRATEGIES

from tests.search.test_every_swap import best_of_all
from tests.search.test_priced_bound import limited


def questions(problem: Problem) -> Questions:
    return Questions(problem, 1, perf_counter() + 60.0)


@pytest.mark.parametrize("seed", range(24))
def test_no_plan_of_all_is_called_impossible_and_every_plan_carries_what_was_asked(seed: int) -> None:
    problem = limited(random_query(seed, 1 + seed % 3, 3, 2), 10.0 ** (2 + seed % 4), seed)
    best = best_of_all(problem)
    if best <= 0:
        pytest.skip("no plan at all")
    problems = questions(problem)
    assert not problems.impossible(best * (1 - 1e-6))
    plan = problems.plan(0.5 * best)
    if plan is not None:
        headroom = evaluate(problem, plan).headroom
        assert headroom is not None
        assert 0.5 * best * (1 - 1e-6) <= headroom <= best * (1 + 1e-9)


def test_it_is_the_optimum_where_prices_mix_plans() -> None:
    """Where few things move the optimum of prices is between plans; these are plans or none."""
    proved = 0
    for seed in range(24):
        problem = limited(random_query(seed, 2 + seed % 2, 3, 2), 10.0 ** (2 + seed % 4), seed)
        best = best_of_all(problem)
        if best <= 0:
            continue
        proved += questions(problem).impossible(1.01 * best)
        result = STRATEGIES["auto"].plan(
            problem, objective="headroom", seed=seed, time_limit=20.0, options={"small": "0"}
        )
        assert result.value is not None
        assert result.value <= best * (1 + 1e-9), "no plan is better than the best of all"
        assert result.bound is None or result.bound >= best * (1 - 1e-9) or result.proven_within
        if result.proven:
            assert equal(result.value, best), seed
    assert proved >= 12


def test_a_flow_may_go_through_a_node_that_selects() -> None:
    """Only the last node can join, and only the middle one has links to it: selections run there."""
    problem = random_query(16, 2, 3, 3)
    nodes = (Node("n0", 1e-6), Node("n1", 0.004), Node("n2", 4.0))
    streams = {name: replace(s, origins=("n0",)) for name, s in problem.streams.items()}
    bandwidth = np.array([[0.0, 1e5, 1.0], [1e5, 0.0, 1e5], [1.0, 1e5, 0.0]])
    network = Network.of_matrix(np.full((3, 3), 0.06), bandwidth)
    problem = replace(problem, streams=streams, cluster=Cluster(nodes, network))
    best = best_of_all(problem)
    joined_between = replace(problem, cluster=Cluster((*nodes[:2], Node("n2", 1e-6)), network))
    assert best > 10 * best_of_all(joined_between)
    assert not questions(problem).impossible(best * (1 - 1e-6))


def test_the_first_queries_with_narrow_links_are_within_five_percent_of_their_bound() -> None:
    """Six of seven; prices and small steps alone reach two."""
    near = 0
    for seed, problem in enumerate(limited_queries(LIMITS[0], 20)):
        if len(problem.queries[0].sources) > 3:
            continue
        result = STRATEGIES["auto"].plan(
            problem, objective="headroom", seed=seed, time_limit=20.0, options={}
        )
        assert result.value is not None
        near += result.bound is not None and result.bound <= 1.05 * result.value
    assert near >= 6
