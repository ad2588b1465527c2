"""Objectives: a plan is better by a share, or reaches a bound, in the direction that the objective says."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.cost.constraint import Reason
from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.objectives import HEADROOM, NETWORK_USAGE, OBJECTIVES
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, problem, stream

P = problem(cluster([1.0, 1.0], latency=0.01), [stream("a", 10, "n1")], [filter_("f", "a", "a.k", 0.5, 100)])
MEASURED = evaluate(P, Plan((QueryPlan(P.queries[0], {"f": "n2"}, {"a": "n1"}),)))
POSITIVE = st.floats(0.01, 100.0)


def valued(headroom: float | None, network_usage: float) -> Evaluation:
    return replace(MEASURED, headroom=headroom, network_usage=network_usage)


def test_the_values_are_those_of_the_evaluation() -> None:
    assert HEADROOM.value(MEASURED) == MEASURED.headroom
    assert NETWORK_USAGE.value(MEASURED) == MEASURED.network_usage > 0


@given(POSITIVE, POSITIVE, st.floats(0.01, 2.0))
def test_a_gain_is_a_share_of_the_worse_value(now: float, factor: float, share: float) -> None:
    then = now * factor
    assert HEADROOM.gains(valued(now, 1), valued(then, 1), share) == (then >= now * (1 + share))
    assert NETWORK_USAGE.gains(valued(1, now), valued(1, then), share) == (then * (1 + share) <= now)


def test_no_limit_is_better_than_any_and_what_cannot_be_carried_out_is_worse() -> None:
    impossible = replace(
        valued(None, 0.0), reasons=(Reason("placement", "operator d/q/f", inf, "f may run nowhere"),)
    )
    assert HEADROOM.score(valued(None, 1)) > HEADROOM.score(valued(1e9, 1))
    assert HEADROOM.gains(valued(3, 1), valued(None, 1), 0.5)
    assert not HEADROOM.gains(valued(None, 1), valued(3, 1), 0.5)
    for objective in OBJECTIVES.values():
        assert objective.score(impossible) < objective.score(valued(0.0, 1e9))


@given(POSITIVE, POSITIVE)
def test_a_bound_is_reached_from_the_worse_side(value: float, bound: float) -> None:
    assert HEADROOM.outer(value, bound) >= value
    assert NETWORK_USAGE.outer(value, bound) <= value
    assert HEADROOM.reached(value, bound) or NETWORK_USAGE.reached(value, bound)
    for objective in OBJECTIVES.values():
        assert objective.reached(bound, bound)
        assert objective.reached(value, value * (1 - 1e-12))


def test_equal_values_are_told_apart_by_the_other_objective() -> None:
    assert HEADROOM.rank(valued(2, 5)) > HEADROOM.rank(valued(2, 6))
    assert NETWORK_USAGE.rank(valued(3, 5)) > NETWORK_USAGE.rank(valued(2, 5))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_that_a_policy_may_name_has_a_strategy(name: str) -> None:
    assert [s.name for s in STRATEGIES.values() if s.plans_for(name)]


def test_beyond_what_is_enough_fewer_hosts_are_better_and_more_headroom_is_no_gain() -> None:
    enough = HEADROOM.up_to(2.0)
    few, several = replace(valued(2.5, 9), hosts=1), replace(valued(9, 1), hosts=3)
    assert enough.rank(few) > enough.rank(several)
    assert HEADROOM.rank(few) < HEADROOM.rank(several)
    assert not enough.gains(few, several, 0.2)
    assert enough.gains(replace(few, headroom=1.0), few, 0.2)
    assert enough.rank(replace(several, headroom=1.9)) < enough.rank(several)
    assert HEADROOM.up_to(None) is HEADROOM
