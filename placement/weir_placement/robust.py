"""Plans for the worst of many rates and selectivities (model.md section 10).

Which corner is worst depends on the plan (`cost.corners`). So plans and corners take turns: the best plan for
some corners, then the corner that is worst for that plan, until no new one is. The best plan for some corners
bounds the best one for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from time import perf_counter
from typing import Any

from weir_placement.cost.corners import Corners, Worst, limited
from weir_placement.cost.evaluation import TOLERANCE
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.proof import with_proof

NOMINAL = 0.25
"""Share of the time for the plan that is best for what is expected."""
EACH = 0.5
"""Share of the time that is left for each further plan."""


def plan_robust(plan: Callable[[Problem, float], Result], problem: Problem, seconds: float) -> Result:
    """The plan with the most headroom at its worst corner; `plan` plans a problem within a time [s].

    `value`, `bound` and `proven` of the result are about the worst headroom; `extra["nominal"]` has the
    headrooms, expected and at worst, of the plan that is best for what is expected.
    """
    started = perf_counter()
    corners = Corners(problem)
    first = plan(corners.problem, NOMINAL * seconds)
    worst = corners.worst(first.plan)
    if worst.headroom == inf or not corners.uncertain:
        return _result(first, worst, first, {}, started, [first])
    tried, best = [first], (first, worst)
    only = corners.only  # there is nothing to take turns with
    looked_at = only or [worst.corner]
    while perf_counter() - started < seconds:
        left = seconds - (perf_counter() - started)
        result = plan(corners.at(looked_at), left if only else EACH * left)
        tried.append(result)
        worst = corners.worst(result.plan)
        if _better(result, worst, *best):
            best = result, worst
        if worst.corner in looked_at or _bound(tried) <= best[1].headroom * (1 + TOLERANCE):
            break
        looked_at.append(worst.corner)
    nominal = {"headroom": limited(first.value), "worst": limited(corners.worst(first.plan).headroom)}
    bounded = min(tried, key=lambda each: inf if each.bound is None else each.bound)
    return _result(*best, bounded, nominal, started, tried)


def _better(one: Result, at_worst: Worst, other: Result, before: Worst) -> bool:
    if len(one.plan.queries) != len(other.plan.queries):
        return len(one.plan.queries) > len(other.plan.queries)
    return at_worst.headroom > before.headroom * (1 + TOLERANCE)


def _bound(tried: list[Result]) -> float:
    """No plan has more headroom at its worst corner: each result's bound is for some of the corners."""
    if any(each.plan.rejected for each in tried):
        return inf
    return min(inf if each.bound is None else each.bound for each in tried)


def _result(
    best: Result, worst: Worst, bounded: Result, nominal: dict[str, Any], started: float, tried: list[Result]
) -> Result:
    bound = _bound(tried)
    extra = {**best.extra, "nominal": nominal, "plans": len(tried)} if nominal else dict(best.extra)
    reached = worst.exact and worst.headroom >= bound * (1 - 2 * TOLERANCE)
    result = replace(
        best,
        value=limited(worst.headroom),
        bound=None if bound == inf else max(bound, worst.headroom),
        proven_within=None,
        space=bounded.space or best.space,
        evaluations=sum(each.evaluations for each in tried),
        seconds=perf_counter() - started,
        extra=extra,
    )
    return with_proof(result, reached or (worst.headroom == inf and best.proven))
