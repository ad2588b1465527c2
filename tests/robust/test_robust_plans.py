"""Robust plans against an enumeration of all plans and all corners."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_placement.cost.corners import Corners
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.operators import Operator
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem, Robustness
from weir_placement.report import report
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, problem, stream
from tests.robust.test_worst_corner import every_corner, uncertain
from tests.search.placements import placements
from tests.search.random_problems import random_problem


def plan(p: Problem, name: str = "exact", **options: str) -> Result:
    return STRATEGIES[name].plan(p, objective="headroom", seed=1, time_limit=20.0, options=options)


def best_worst(p: Problem) -> float:
    """Of all orders and placements, the most headroom at the worst of all corners."""
    corners = Corners(p)
    (query,) = p.queries
    every = list(every_corner(corners))
    best = -1.0
    for logical in Rewriter(query, p.streams).reachable():
        for each in placements(replace(corners.problem, queries=(logical,))):
            if evaluate(corners.problem, each).feasible:
                best = max(best, min(corners.headroom(each, corner) for corner in every))
    return best


def small(seed: int) -> bool:
    return len(random_problem(seed, 3, 2).queries[0].operators) <= 4


@pytest.mark.parametrize("deviations", [1, 2, None])
@pytest.mark.parametrize("seed", [s for s in range(40) if small(s)][:6])
def test_no_plan_carries_more_at_its_worst(seed: int, deviations: int | None) -> None:
    p = uncertain(random_problem(seed, 3, 2), seed, deviations)
    best = best_worst(p)
    result = plan(p)
    if best < 0:
        assert result.plan.rejected
    elif result.value is not None:
        assert equal(result.value, best), (result.value, best)
        assert result.proven
        assert Corners(p).worst(result.plan).headroom == result.value


def two_filters(deviations: int | None = 1) -> Problem:
    """Rows of `a` pass f at n1, then g. Expected, a tenth passes f, which leaves room on the thin link to the
    large node n2; where six tenths do, it does not."""
    first = filter_("f", "a", "a.k", 0.1, 100, "n1").changed(max_selectivity=0.6)
    chain: list[Operator] = [first, filter_("g", "f", "a.k", 0.5, 400)]
    p = problem(cluster([0.12, 0.2], 0.01, 1200), [stream("a", 300, "n1")], chain, fixed_order=True)
    return replace(p, robustness=Robustness(deviations))


def test_the_robust_plan_differs_and_says_its_price() -> None:
    p = two_filters()
    nominal, robust = plan(replace(p, robustness=None)), plan(p)
    assert nominal.plan.queries[0].nodes == {"f": "n1", "g": "n2"}
    assert robust.plan.queries[0].nodes == {"f": "n1", "g": "n1"}
    assert robust.proven
    written = report(p, robust)["robust"]
    assert written == {
        "deviations": 1,
        "uncertain": 1,
        "expectedHeadroom": pytest.approx(120 / 42),
        "worstHeadroom": pytest.approx(120 / 102),
        "exact": True,
        "worstAt": ["selectivity of operator default/q/f"],
        "nominal": {"headroom": pytest.approx(4.0), "worst": pytest.approx(1200 / 1440)},
        "price": pytest.approx(1 - 30 / 42),
    }


def test_with_all_at_their_largest_it_is_the_plan_for_that_corner() -> None:
    p = two_filters(None)
    (query,) = p.queries
    largest = tuple(
        op.changed(selectivity=op.max_selectivity) if op.id == "f" else op for op in query.operators
    )
    corner = replace(p, queries=(replace(query, operators=largest),), robustness=None)
    assert plan(p).value == plan(corner).value


def test_what_a_robust_plan_cannot_be() -> None:
    with pytest.raises(ValueError, match="robust plans are for headroom, not network-usage"):
        STRATEGIES["exact-dp"].plan(two_filters(), objective="network-usage", seed=1, time_limit=1.0)
    with pytest.raises(ValueError, match="robust plans have no clones"):
        plan(two_filters(), "auto", clones="2")
