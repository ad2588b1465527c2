"""What a report says was looked at was looked at, and its seconds are all of them."""

import numpy as np
import pytest
from weir_placement import strategy
from weir_placement.model.plan import Plan, Result
from weir_placement.network.counting import Count, counting
from weir_placement.network.dynamic_program import Ways, solve
from weir_placement.network.exhaustive import count, exhaustive
from weir_placement.network.plan_space import plan_space
from weir_placement.objectives import NETWORK_USAGE
from weir_placement.request import PlanRequest
from weir_placement.strategies import STRATEGIES

from tests.network.example import small_problem


def test_the_program_counts_what_it_compares() -> None:
    """Two streams at a node each go to three, their join is made at three and goes to three."""
    ways = Ways(
        np.array([8.0, 2.0, 1.0]),
        np.array([0, 0, 0, 1]),
        np.array([0, 2]),
        np.array([0, 1]),
        np.zeros(1),
        np.zeros(1),
    )
    present = np.full((3, 3), np.inf)
    present[0, 0] = present[1, 2] = 0
    counted, other = Count(), Count()
    with counting(counted):
        solve(ways, np.ones((3, 3)) - np.eye(3), present, np.zeros((1, 3)))
        with counting(other):
            solve(ways, np.ones((3, 3)) - np.eye(3), present, np.array([[0.0, np.inf, np.inf]]))
    assert counted.plans == 3 + 3 + 3 + 3 * 3
    assert other.plans == 3 + 3 + 1 + 3


def test_an_exhaustive_search_counts_its_plans() -> None:
    problem = small_problem(1, nodes=3)
    space = plan_space(problem, problem.queries[0])
    index = problem.cluster.index
    at = {
        t: [index[n] for n in problem.streams[space.query.sources[a]].origins]
        for t, a in space.aliases.items()
    }
    result = exhaustive(problem, PlanRequest(NETWORK_USAGE, 0, 10.0))
    assert result.evaluations == count(space, 3, at) > 0


def test_more_rounds_are_more_plans() -> None:
    """A second query is planned too, and each again given the other."""
    one, two = (small_problem(2, nodes=4, queries=queries) for queries in (1, 2))
    looked = [
        STRATEGIES["exact-dp"].plan(p, objective="network-usage", seed=0, time_limit=10.0).evaluations
        for p in (one, two)
    ]
    assert looked[1] > 2 * looked[0] > 0


def test_smaller_clusters_compare_less() -> None:
    problem = small_problem(3, nodes=24)
    looked = [
        STRATEGIES[name]
        .plan(problem, objective="network-usage", seed=0, time_limit=10.0, options=options)
        .evaluations
        for name, options in (("top-down", {"maxClusterSize": "4"}), ("exact-dp", {}))
    ]
    assert 0 < looked[0] < looked[1]


def test_seconds_are_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only those of the search that found the plan: one that was given up took 3.6 s before."""
    problem = small_problem(1)
    planned = Result(Plan(()), "exact-dp", "network-usage", 1.0, 1.0, True, 1, 0.1, 0, {})
    slow = strategy.Strategy(
        "slow", "", (NETWORK_USAGE,), "", lambda *_: planned, STRATEGIES["exact-dp"].parameters
    )
    clock = iter([10.0, 13.6])
    monkeypatch.setattr(strategy, "perf_counter", lambda: next(clock))
    result = slow.plan(problem, objective="network-usage", seed=0, time_limit=10.0)
    assert result.seconds == pytest.approx(3.6)
