"""What a core is worth, what binds next, and the region of two streams' rates."""

import numpy as np
import pytest
from weir_placement.explain import feasible_region, prices, tightest, without
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, join, problem, stream


def auto(p: Problem) -> Result:
    return STRATEGIES["auto"].plan(p, objective="headroom", seed=1, time_limit=1.0, options={})


def test_a_mbit_of_the_link_that_binds_is_worth_its_tuples() -> None:
    """8 bytes a tuple over 1,000 bytes/s: one more Mbit/s carries 15,625 tuples/s more."""
    p = problem(
        cluster([1.0, 1.0], bandwidth=1000.0),
        [stream("a", 1, "n1")],
        [filter_("f", "a", "a.k", 0.5, 1, "n2")],
    )
    result = auto(p)
    assert result.value == pytest.approx(125.0)
    gains = {g.change: g.gain for g in prices(p, result.plan, result.value)}
    assert gains["one more Mbit/s from n1 to n2"] == pytest.approx(15_625.0)


def test_a_core_is_worth_what_the_new_plan_gains() -> None:
    """One filter of 100 us at 100 tuples/s: on the best node each core adds 100 times that."""
    p = problem(cluster([1.0, 2.0]), [stream("a", 100, "n1")], [filter_("f", "a", "a.k", 0.5, 100)])
    result = auto(p)
    gains = {g.change: g.gain for g in prices(p, result.plan, result.value)}
    assert gains == {
        "one more core at node n1": pytest.approx(0.0, abs=1e-6),
        "one more core at node n2": pytest.approx(100.0),
    }


def test_without_its_allowed_nodes_the_filter_moves_to_the_greater_node() -> None:
    p = problem(cluster([1.0, 2.0]), [stream("a", 100, "n1")], [filter_("f", "a", "a.k", 0.5, 100, "n1")])
    gains = {g.change: g.gain for g in without(p, auto(p).value)}
    assert gains["with every operator allowed on every node"] == pytest.approx(100.0)
    assert gains["without limits on memory"] == pytest.approx(0.0, abs=1e-6)


def test_the_region_of_a_join_is_a_straight_line_through_the_headroom() -> None:
    """A join costs c (r1 + r2): the boundary is r1 + r2 = capacity / c; the headroom lies on it."""
    p = problem(
        cluster([1.0]),
        [stream("a", 10, "n1"), stream("b", 30, "n1")],
        [join("j", "a", "b", "a.k", "b.k", 0.001)],
    )
    plan = auto(p).plan
    boundary = feasible_region(p, plan, "default/a", "default/b", 7)
    assert np.allclose(boundary.sum(axis=1), 1e6 / 800)
    assert [c.name for c in tightest(p, plan)] == ["cpu of node n1"]
