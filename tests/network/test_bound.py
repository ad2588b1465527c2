"""The bound against the best of all joint plans, where capacities bind."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan
from weir_placement.network.bound import lower_bound
from weir_placement.network.exact_dp import exact_dp
from weir_placement.network.plan_space import plan_space
from weir_placement.network.sites import all_sites

from tests.network.example import every_plan, small_problem


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_is_below_the_best_plan_that_fits(seed):
    problem = small_problem(seed, nodes=3, width=2, queries=3, streams=4, cpu=0.02, cost=50.0)
    best = np.inf
    for chosen in product(*(list(every_plan(problem, i)) for i in range(3))):
        evaluation = evaluate(problem, Plan(chosen))
        if evaluation.headroom is not None and evaluation.headroom >= 1 - 1e-9:
            best = min(best, evaluation.network_usage)
    spaces = [plan_space(problem, q).private() for q in problem.queries]
    plain = lower_bound(problem, spaces, all_sites)
    if np.isfinite(best):
        priced = lower_bound(problem, spaces, all_sites, value=best)
        assert plain <= priced * (1 + 1e-12)
        assert priced <= best * (1 + 1e-9)


def test_prices_raise_it_where_a_node_is_full():
    """Two equal queries over the same streams want the same node, which has room for one join."""
    problem = small_problem(8, nodes=4, width=2, queries=1, streams=2, cost=50.0)

    twins = tuple(replace(problem.queries[0], name=f"bench/q{i}") for i in range(3))
    load = float(plan_space(problem, twins[0]).ways.cpu[-1])
    nodes = tuple(replace(n, cpu=1.5 * load / 1e6) for n in problem.cluster.nodes)
    tight = replace(problem, cluster=replace(problem.cluster, nodes=nodes), queries=twins)
    spaces = [plan_space(tight, q).private() for q in twins]
    found = exact_dp(tight, objective="network-usage", seed=0, time_limit=10.0, options={})
    assert len(found.plan.queries) == 3
    assert found.bound > lower_bound(tight, spaces, all_sites) * 1.01
    assert found.bound <= found.value * (1 + 1e-12)
    assert found.bound == pytest.approx(lower_bound(tight, spaces, all_sites, value=found.value))
