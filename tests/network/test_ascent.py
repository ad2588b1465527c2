"""The bound by slacks against every joint plan, where queries share streams."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.problem import Problem
from weir_placement.network.ascent import Ascent, ascent_of
from weir_placement.network.bound import Relaxation
from weir_placement.network.fallback import Fallback
from weir_placement.network.ledger import Ledger, flows
from weir_placement.network.plan_space import PlanSpace, plan_space
from weir_placement.network.several import _followed, plan_all
from weir_placement.network.single import Refusal, SinglePlacement, place_query, sinks_of

from tests.network.example import small_problem, trees


def shared_problem(seed: int, delivered: bool, cpu: float = inf) -> Problem:
    """Two queries of three of three streams, on three nodes."""
    problem = small_problem(seed, nodes=3, width=3, queries=2, streams=3, cpu=cpu, cost=50.0)
    return replace(
        problem,
        queries=tuple(replace(q, deliver_to=q.deliver_to if delivered else ()) for q in problem.queries),
    )


def every_plan(problem: Problem, space: PlanSpace) -> list:
    index = problem.cluster.index
    origins = {
        t: [index[o] for o in problem.streams[space.query.sources[a]].origins]
        for t, a in space.aliases.items()
    }
    sinks = sinks_of(problem, space).tolist() or [-1]
    return list(product(trees(space, space.ways.streams - 1, len(problem.cluster), origins), sinks))


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from([inf, 0.05]))
@settings(max_examples=20, deadline=None)
def test_it_is_below_every_joint_plan(seed: int, delivered: bool, derived: bool, cpu: float) -> None:
    problem = shared_problem(seed, delivered, cpu)
    spaces = [plan_space(problem, query) for query in problem.queries]
    best = inf
    for plans in product(*(every_plan(problem, space) for space in spaces)):
        ledger = Ledger(problem)
        for space, (root, sink) in zip(spaces, plans, strict=True):
            ledger.add(space, root, sink)
        best = min(best, ledger.usage)
    ascent = Ascent(problem, spaces, derived=derived)
    ascent.run(inf, inf)
    assert ascent.bound <= best * (1 + 1e-9)
    assert ascent.bound >= 0.8 * best or cpu < inf or not derived


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("delivered", [True, False])
def test_slack_is_what_a_plan_with_a_flow_costs_more(seed: int, delivered: bool) -> None:
    problem = shared_problem(seed, delivered)
    spaces = [plan_space(problem, query) for query in problem.queries]
    ascent = Ascent(problem, spaces)
    random = np.random.default_rng(seed)
    ascent.share *= random.uniform(0.0, 2.0, ascent.share.shape)
    ascent._sweep()
    for space, query in zip(spaces, ascent.queries, strict=True):
        stream = {signature: t for t, signature in enumerate(space.signatures)}
        costs = []
        for root, sink in every_plan(problem, space):
            used = [(stream[signature], a, b) for (signature, a, b), _ in flows(space, root, sink)]
            costs.append((sum(charge(ascent, query, *flow) for flow in used), used))
        least = min(cost for cost, _ in costs)
        for t in np.flatnonzero(query.seat >= 0):
            for a, b in product(range(3), repeat=2):
                dearer = min((cost for cost, used in costs if (t, a, b) in used), default=inf) - least
                if a != b and dearer < inf:
                    assert ascent.slack[row(query, t, a), b] == pytest.approx(dearer, rel=1e-9, abs=1e-6)


def charge(ascent: Ascent, query, t: int, a: int, b: int) -> float:
    if query.seat[t] >= 0:
        return float(ascent.share[row(query, t, a), b])
    return float(query.weight[t] * ascent.latency[a, b])


def row(query, t: int, a: int) -> int:
    return int(query.seat[t] if query.single[t] else query.seat[t] + a)


def test_shares_of_a_flow_add_up_to_its_cost() -> None:
    problem = small_problem(4, nodes=8, width=3, queries=6, streams=4)
    spaces = [plan_space(problem, query) for query in problem.queries]
    ascent = ascent_of(problem, spaces)
    assert ascent is not None
    rows = [users + a for users, length in ascent.users for a in range(length)]
    costs = [ascent.share[users].sum(axis=0) for users in rows]
    ascent.run(inf, inf)
    assert ascent.share.min() >= 0.0
    for users, cost in zip(rows, costs, strict=True):
        np.testing.assert_allclose(ascent.share[users].sum(axis=0), cost, rtol=1e-9)


def test_it_comes_closer_than_subgradients_and_its_plans_are_a_better_start() -> None:
    """Thirty queries over the same streams; plans by rounds of planning each given the others."""
    problem = small_problem(6, nodes=16, width=4, queries=30, streams=8)
    every = np.arange(len(problem.cluster))

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        return place_query(ledger, space, every)

    fallback = Fallback(problem, 1, 0.0, 0.0)
    ledger, placed, _, spaces = plan_all(problem, planner, fallback, inf)
    ascent = ascent_of(problem, list(spaces.values()))
    assert ascent is not None
    ascent.run(ledger.usage, inf)
    rounds = Relaxation(problem, list(spaces.values())).bound(ledger.usage, inf, 100)
    assert rounds < 0.97 * ascent.bound
    chosen = dict(zip(spaces, ascent.plans(), strict=True))
    better, _ = _followed(problem, ledger, placed, chosen, planner, inf, 5)
    assert better.usage < 0.995 * ledger.usage
    assert ascent.bound <= better.usage <= 1.15 * ascent.bound


def test_nothing_is_shared_or_too_much() -> None:
    problem = small_problem(4, nodes=4, width=2, queries=1)
    assert ascent_of(problem, [plan_space(problem, query) for query in problem.queries]) is None
