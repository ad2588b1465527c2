"""The bound that knows links and memory: no plan is above it, and it is near where they bind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from weir_placement.bench.generator import random_query
from weir_placement.bench.whitewater import large_queries
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Placed, Problem
from weir_placement.search.item import HUGE
from weir_placement.search.priced_bound import priced_bound
from weir_placement.strategies import STRATEGIES

from tests.search.placements import best_placement
from tests.search.test_every_swap import best_of_all


def limited(problem: Problem, bandwidth: float, seed: int) -> Problem:
    """The problem with links of such a width, and memory, egress and ingress at random."""
    random = np.random.default_rng(seed)
    count = len(problem.cluster)
    (query,) = problem.queries
    heavy = tuple(replace(op, memory=500.0) for op in query.operators)
    nodes = tuple(
        replace(
            node,
            memory=float(np.exp(random.uniform(7.0, 12.0))),
            egress=float(np.exp(random.uniform(7.0, 12.0))),
            ingress=float(np.exp(random.uniform(7.0, 12.0))),
        )
        for node in problem.cluster.nodes
    )
    network = Network.uniform(count, 0.06, bandwidth)
    cluster = replace(problem.cluster, nodes=nodes, network=network)
    return replace(problem, cluster=cluster, queries=(replace(query, operators=heavy),))


def test_no_plan_of_all_logical_and_physical_ones_is_above_it() -> None:
    near = 0
    for seed in range(24):
        problem = limited(random_query(seed, 1 + seed % 3, 3, 2), 10.0 ** (2 + seed % 4), seed)
        best = best_of_all(problem)
        if best <= 0:
            continue
        bound = priced_bound(problem, 1e-3 * best, np.inf)
        assert bound >= best * (1 - 1e-6), seed
        near += bound <= 1.1 * best
    assert near >= 5


def test_with_two_points_of_a_profile_it_is_the_lower_one() -> None:
    problem = limited(random_query(3, 2, 4, 2), 1e3, 3)
    double = {name: 2.0 * stream.rate for name, stream in problem.streams.items()}
    one = priced_bound(problem, 1e-3, np.inf)
    both = priced_bound(replace(problem, profile=({}, double)), 1e-3, np.inf)
    assert abs(both / (one / 2.0) - 1.0) < 0.01


def test_a_cordoned_node_keeps_what_it_runs_and_the_bound_knows() -> None:
    problem = random_query(3, 2, 4, 2)
    (query,) = problem.queries
    nodes = (Node("n0", 0.01), Node("n1", 4.0, schedulable=False))
    force = tuple(Placed(query.name, op.id, "n1") for op in query.operators)
    problem = replace(problem, cluster=Cluster(nodes, Network.uniform(2, 0.06, 1e6)), in_force=force)
    best = best_placement(problem)
    assert priced_bound(problem, 1e-3 * best, np.inf) >= best * (1 - 1e-6)


def test_where_nothing_but_cpu_is_limited_it_says_nothing() -> None:
    assert priced_bound(random_query(3, 2, 4, 2), 1.0, np.inf) == HUGE


def test_auto_reports_it_where_links_bind() -> None:
    """A plan at this bound is the best of all plans."""
    proved = 0
    for n, problem in enumerate(large_queries(6)):
        narrow = Network.uniform(10, 0.06, 2e3)
        problem = replace(problem, cluster=replace(problem.cluster, network=narrow))
        result = STRATEGIES["auto"].plan(problem, objective="headroom", seed=n, time_limit=10.0, options={})
        assert result.value is not None
        assert result.bound is not None
        assert result.bound >= result.value
        proved += result.proven
    assert proved >= 1
