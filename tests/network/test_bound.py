"""The bound against the best of all joint plans, where capacities bind."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan
from weir_placement.network import cells
from weir_placement.network.bound import ROUNDS, Relaxation, lower_bound
from weir_placement.network.exact_dp import EXACT_DP
from weir_placement.network.plan_space import plan_space

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
    plain = lower_bound(problem, spaces)
    if np.isfinite(best):
        priced = lower_bound(problem, spaces, value=best)
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
    result = EXACT_DP.plan(tight, objective="network-usage", seed=0, time_limit=10.0, options={})
    assert len(result.plan.queries) == 3
    assert result.bound > lower_bound(tight, spaces) * 1.01
    assert result.bound <= result.value * (1 + 1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_with_memory_and_links_is_below_the_best_plan_that_fits(seed):
    """Every capacity has a price: the best of all joint plans is never below the bound."""
    problem = small_problem(seed, nodes=3, width=2, queries=2, streams=3, cost=50.0)
    random = np.random.default_rng(seed)
    loads = [plan_space(problem, q).ways for q in problem.queries]
    memory = float(max(w.memory.max() for w in loads)) * random.uniform(1.0, 1.5)
    carried = float(max(w.bytes_per_second.max() for w in loads)) * random.uniform(1.0, 1.5)
    nodes = tuple(
        replace(n, memory=memory, egress=carried * random.uniform(1, 2)) for n in problem.cluster.nodes
    )
    network = replace(problem.cluster.network, bandwidth=np.full((3, 3), carried))
    tight = replace(problem, cluster=replace(problem.cluster, nodes=nodes, network=network))
    best = np.inf
    for chosen in product(*(list(every_plan(tight, i)) for i in range(2))):
        evaluation = evaluate(tight, Plan(chosen))
        if evaluation.headroom is not None and evaluation.headroom >= 1 - 1e-9:
            best = min(best, evaluation.network_usage)
    if np.isfinite(best):
        spaces = [plan_space(tight, q).private() for q in tight.queries]
        assert lower_bound(tight, spaces, value=best, rounds=30) <= best * (1 + 1e-9)


def test_shares_that_move_come_close_to_the_best_plan_where_even_shares_do_not():
    """Several queries over the same streams at different sinks: even shares let each pay a part only."""
    problem = small_problem(4, nodes=8, width=3, queries=6, streams=4)
    spaces = [plan_space(problem, q) for q in problem.queries]
    result = EXACT_DP.plan(
        problem, objective="network-usage", seed=0, time_limit=30.0, options={"reuse": "on"}
    )
    even = Relaxation(problem, spaces).bound(result.value, np.inf, 1)
    moved = Relaxation(problem, spaces).bound(result.value, np.inf, ROUNDS)
    assert even < 0.6 * result.value
    assert 0.85 * result.value < moved <= result.value * (1 + 1e-9)


def test_cells_of_a_large_cluster_bound_what_its_nodes_can_do(monkeypatch):
    """Where nodes are taken together the bound stays below that over nodes, and above nothing."""
    problem = small_problem(3, nodes=24, width=3, queries=3, streams=5, cpu=1.0, cost=50.0)
    spaces = [plan_space(problem, q) for q in problem.queries]
    exact = lower_bound(problem, spaces, rounds=1)
    monkeypatch.setattr(cells, "MOST", 8)
    few = cells.cells_of(problem)
    assert len(few.size) <= 8
    assert few.size.sum() == 24
    rough = lower_bound(problem, spaces, rounds=1)
    assert 0.0 < rough <= exact * (1 + 1e-9)
