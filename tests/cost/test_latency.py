"""Latency with what waits on nodes and links: the formulas, and what they are as constraints."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.cost.evaluation import Evaluation, equal, evaluate
from weir_placement.cost.latency import longest_path
from weir_placement.cost.own_headroom import query_headrooms
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads, Problem
from weir_placement.timeliness import in_time

from tests.cost.example import cluster, filter_, problem, stream

RATE, COST = 100.0, 2000.0
"""A fifth of the core of 1.0: 100 rows/s of 2,000 CPU-us."""


def one_filter(rate: float = RATE, **more: object) -> tuple[Problem, Plan]:
    """A filter at n2 that reads a stream of 8-byte rows from n1."""
    p = problem(
        cluster([1.0, 1.0], latency=0.01, bandwidth=1000.0),
        [stream("a", rate, "n1")],
        [filter_("f", "a", "a.k", 0.5, COST, "n2")],
        **more,  # type: ignore[arg-type]
    )
    return p, Plan((QueryPlan(p.queries[0], {"f": "n2"}, {"a": "n1"}),))


def score(rate: float = RATE, **more: object) -> Evaluation:
    return evaluate(*one_filter(rate, **more))


def test_work_a_batch_and_a_link_take_longer_where_they_are_shared() -> None:
    """u = 0.2; the link carries 800 of 1,000 bytes/s."""
    evaluation = score(overheads=Overheads(exchange_latency=0.3))
    work, batch, link = 0.002 / 0.8, 0.3 / 0.8, 8 / (1000 - 800)
    assert evaluation.latency["default/q"] == pytest.approx(work + batch + 0.01 + link)


def test_what_falls_behind_has_no_latency() -> None:
    assert score(124).latency["default/q"] < inf
    assert score(125).latency["default/q"] == inf  # the link is full


def test_the_longest_path_is_what_remains_without_load() -> None:
    p, plan = one_filter()
    assert longest_path(p, plan.queries[0]) == pytest.approx(0.002 + 0.01 + 8 / 1000)


@given(st.floats(1, 120), st.floats(1.001, 3))
def test_latency_grows_with_the_rate(rate: float, factor: float) -> None:
    assert score(rate * factor).latency["default/q"] > score(rate).latency["default/q"]


def test_a_limit_binds_where_the_latency_meets_it() -> None:
    p, plan = one_filter(max_latency=0.05)
    evaluation = evaluate(p, plan)
    assert evaluation.feasible
    assert evaluation.headroom is not None
    assert evaluation.headroom < 1000 / 800  # where the link is full
    assert str(evaluation.binding).startswith("latency of query default/q at ")
    rate = RATE * evaluation.headroom
    assert score(rate).latency["default/q"] == pytest.approx(0.05)
    assert query_headrooms(p, plan)["default/q"] == pytest.approx(evaluation.headroom)


def test_a_limit_that_is_below_the_path_itself_makes_a_plan_infeasible() -> None:
    (reason,) = score(max_latency=0.015).reasons
    assert str(reason) == "latency of query default/q is 0.02 s, over its limit of 0.015 s"


def test_a_slow_plan_is_overloaded_at_the_expected_rates() -> None:
    (overload,) = score(max_latency=0.03).overloads
    assert str(overload).startswith("latency of query default/q at 175 % of its limit of 0.03 s")


def test_a_limit_far_away_leaves_the_headroom_as_it_is() -> None:
    with_limit, without = score(max_latency=1e9).headroom, score().headroom
    assert with_limit is not None
    assert without is not None
    assert equal(with_limit, without)


def test_the_latency_is_the_largest_over_the_points_of_the_profile() -> None:
    several = score(profile=({"default/a": 10.0}, {"default/a": 110.0}))
    assert several.latency == score(110).latency


def test_a_plan_for_the_profile_refuses_what_is_late_there() -> None:
    from weir_placement.strategies import STRATEGIES

    p, _ = one_filter(max_latency=0.03)
    result = STRATEGIES["exact-dp"].plan(p, objective="network-usage", seed=1, time_limit=5.0)
    (rejection,) = result.plan.rejected
    assert "at the expected rates, where operators wait; the limit is 0.03 s" in rejection.reason
    assert not result.proven
    slow = replace(p, queries=tuple(replace(q, max_latency=0.06) for q in p.queries))
    planned = STRATEGIES["exact-dp"].plan(slow, objective="network-usage", seed=1, time_limit=5.0)
    assert not planned.plan.rejected
    assert in_time(slow, planned) is planned
