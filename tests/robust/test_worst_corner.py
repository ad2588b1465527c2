"""The worst corner of a plan against all corners, and what makes corners the worst points."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.cost import corners as module
from weir_placement.cost.corners import Corner, Corners
from weir_placement.cost.evaluation import equal, evaluate, headroom_of
from weir_placement.model.operators import Filter, Join, Operator
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem, Robustness

from tests.search.placements import placements
from tests.search.random_problems import random_problem


def uncertain(problem: Problem, seed: int, deviations: int | None) -> Problem:
    """Rates up to twice, selectivities up to five times what is expected."""
    r = random.Random(seed)
    queries = tuple(
        replace(
            query,
            operators=tuple(_uncertain(op, number, r) for number, op in enumerate(query.operators)),
        )
        for query in problem.queries
    )
    most = tuple({name: rate * r.uniform(1, 2) for name, rate in point.items()} for point in problem.points())
    return replace(problem, queries=queries, robustness=Robustness(deviations, most))


def _uncertain(op: Operator, number: int, r: random.Random) -> Operator:
    if isinstance(op, Filter) and op.columns:
        op = replace(
            op, predicate=f"{op.columns[0]} = {number}"
        )  # of two that are the same, any may be first
    if isinstance(op, Filter | Join) and r.random() < 0.8:
        return op.changed(max_selectivity=min(1.0, op.selectivity * r.uniform(1, 5)))
    return op


def every_corner(corners: Corners) -> Iterator[Corner]:
    for point in range(len(corners.points)):
        parameters = corners.parameters(point)
        deviations = corners.robustness.deviations
        many = len(parameters) if deviations is None else min(deviations, len(parameters))
        yield from (Corner(point, frozenset(chosen)) for chosen in combinations(parameters, many))


def some_plan(problem: Problem, seed: int) -> Plan:
    every = list(placements(replace(problem, robustness=None)))
    return random.Random(seed).choice(every)


SMALL = [s for s in range(60) if len(random_problem(s, 3, 2).queries[0].operators) <= 5]


@pytest.mark.parametrize("deviations", [0, 1, 2, 3, None])
def test_the_worst_corner_is_the_worst_of_all(deviations: int | None) -> None:
    for seed in SMALL:
        problem = uncertain(random_problem(seed, 3, 2), seed, deviations)
        corners = Corners(problem)
        plan = some_plan(problem, seed)
        worst = corners.worst(plan)
        least = min(corners.headroom(plan, corner) for corner in every_corner(corners))
        assert worst.exact
        assert worst.headroom == least or equal(worst.headroom, least), seed


@given(st.sampled_from(SMALL), st.randoms(use_true_random=False))
def test_no_point_between_the_corners_is_worse(seed: int, r: random.Random) -> None:
    """Every rate and selectivity anywhere in its range: at most as much is carried at their largest."""
    problem = uncertain(random_problem(seed, 3, 2), seed, None)
    corners = Corners(problem)
    plan = some_plan(problem, seed)
    share = {key: r.random() for key in corners.parameters(0)}
    rates = {
        name: rate + share.get((module.RATE, name), 0.0) * (problem.robustness.max_rates[0][name] - rate)  # type: ignore[union-attr]
        for name, rate in problem.points()[0].items()
    }
    (query,) = problem.queries
    between = tuple(
        op.changed(
            selectivity=op.selectivity
            + share.get((module.SELECTIVITY, f"{query.name}/{op.id}"), 0.0)
            * (op.max_selectivity - op.selectivity)
        )
        if isinstance(op, Filter | Join)
        else op
        for op in query.operators
    )
    inside = replace(problem, queries=(replace(query, operators=between),), profile=(rates,), robustness=None)
    moved = Plan(tuple(replace(q, query=replace(q.query, operators=between)) for q in plan.queries))
    headroom = headroom_of(inside, moved, frozenset(problem.streams))
    assert (inf if headroom is None else headroom) >= corners.worst(plan).headroom * (1 - 1e-9)


def test_with_nothing_uncertain_the_worst_is_the_expected() -> None:
    problem = replace(random_problem(3, 3, 2), robustness=Robustness())
    plan = some_plan(problem, 3)
    worst = Corners(problem).worst(plan)
    assert worst.corner.largest == frozenset()
    assert worst.headroom == evaluate(replace(problem, robustness=None), plan).headroom


def test_more_corners_than_are_looked_at_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in SMALL:
        problem = uncertain(random_problem(seed, 3, 2), seed, 2)
        plan = some_plan(problem, seed)
        exact = Corners(problem).worst(plan).headroom
        monkeypatch.setattr(module, "MOST", 1)
        cut = Corners(problem).worst(plan)
        monkeypatch.undo()
        assert cut.least <= exact * (1 + 1e-9)
        assert cut.headroom >= exact * (1 - 1e-9)
