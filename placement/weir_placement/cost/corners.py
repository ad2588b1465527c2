"""The worst point for a plan, of many that rates and selectivities may be at (model.md section 10).

Every load grows with every rate and selectivity, so a plan's worst point is a corner: as many of them as may
deviate at once are at their largest (the budget of [1]_). Which ones depends on the plan.

References
----------
.. [1] Dimitris Bertsimas, Melvyn Sim, "The Price of Robustness", Operations Research 52 (1), 2004.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import inf

from weir_placement.cost.evaluation import TOLERANCE, headroom_of
from weir_placement.cost.raised import uncertain
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem

MOST = 2000
"""Corners that are looked at for one plan; beyond, its worst headroom is only bounded."""
RATE, SELECTIVITY = "rate of stream", "selectivity of operator"
Parameter = tuple[str, str]
"""What may deviate: `RATE` or `SELECTIVITY`, and the name of a stream, or `query/operator`."""


@dataclass(frozen=True)
class Corner:
    """A point of the profile with some rates and selectivities at their largest."""

    point: int
    largest: frozenset[Parameter]


@dataclass(frozen=True)
class Worst:
    """The least headroom of a plan over the corners (inf: unbounded), where it is `exact`; else of those that
    were looked at, and there is none below `least`."""

    headroom: float
    corner: Corner
    least: float

    @property
    def exact(self) -> bool:
        """Whether no corner is worse."""
        return self.least >= self.headroom * (1 - TOLERANCE)


class Corners:
    """The corners of a problem that has a `robustness`."""

    def __init__(self, problem: Problem) -> None:
        assert problem.robustness is not None
        self.robustness = problem.robustness
        self.problem = replace(problem, robustness=None)
        self.points = problem.points()
        self.selectivities = [
            (SELECTIVITY, f"{query.name}/{op.id}")
            for query in problem.queries
            for op in query.operators
            if uncertain(op)
        ]

    def parameters(self, point: int) -> list[Parameter]:
        """What may deviate at a point of the profile."""
        expected = self.points[point]
        most = self.robustness.max_rates[point] if self.robustness.max_rates else {}
        rates = [(RATE, name) for name, rate in most.items() if rate > expected.get(name, inf)]
        return [*rates, *self.selectivities]

    @property
    def uncertain(self) -> int:
        """How many rates and selectivities may deviate, at the point where most do."""
        return max(len(self.parameters(k)) for k in range(len(self.points)))

    @property
    def only(self) -> list[Corner]:
        """The worst corner of each point for every plan, where all may be at their largest; else none."""
        if self.robustness.deviations is not None and self.robustness.deviations < self.uncertain:
            return []
        return [Corner(k, frozenset(self.parameters(k))) for k in range(len(self.points))]

    def at(self, corners: Iterable[Corner]) -> Problem:
        """The problem with these corners as its profile."""
        chosen = list(corners)
        return replace(
            self.problem,
            profile=tuple(self._rates(corner) for corner in chosen),
            raised=tuple(
                frozenset(name for kind, name in corner.largest if kind == SELECTIVITY) for corner in chosen
            ),
        )

    def _rates(self, corner: Corner) -> dict[str, float]:
        own = {name for kind, name in corner.largest if kind == RATE}
        most = {name: self.robustness.max_rates[corner.point][name] for name in own}
        return {**self.points[corner.point], **most}

    def headroom(self, plan: Plan, corner: Corner) -> float:
        """Of a plan at one corner; inf where nothing limits it."""
        headroom = headroom_of(self.at([corner]), plan, frozenset(self.problem.streams))
        return inf if headroom is None else headroom

    def worst(self, plan: Plan) -> Worst:
        """The worst corner for a plan, by branch and bound: with all that is undecided at its largest,
        no corner below is worse. At most `MOST` corners are looked at."""
        at_points = [self._worst_at(plan, k) for k in range(len(self.points))]
        worst = min(at_points, key=lambda each: each.headroom)
        return replace(worst, least=min(each.least for each in at_points))

    def _worst_at(self, plan: Plan, point: int) -> Worst:
        parameters = self.parameters(point)
        many = self.robustness.deviations
        budget = len(parameters) if many is None else min(many, len(parameters))

        def headroom(largest: Iterable[Parameter]) -> float:
            return self.headroom(plan, Corner(point, frozenset(largest)))

        if budget < len(parameters):
            parameters.sort(key=lambda each: (headroom([each]), each))
        best = tuple(parameters[:budget])
        value = headroom(best)
        open_: list[tuple[float, tuple[Parameter, ...], int]] = []
        if 0 < budget < len(parameters):
            heappush(open_, (headroom(parameters), (), 0))
        looked_at = len(parameters) + 2
        while open_ and open_[0][0] < value * (1 - TOLERANCE) and looked_at < MOST:
            _, chosen, start = heappop(open_)
            for branch in ((*chosen, parameters[start]), chosen):
                left, rest = budget - len(branch), parameters[start + 1 :]
                corner = (*branch, *rest[:left])
                if len(corner) < budget:
                    continue  # too few are left to choose from; with one more at its largest it is worse
                at_corner = headroom(corner)
                looked_at += 1
                if at_corner < value:
                    best, value = corner, at_corner
                if 0 < left < len(rest):
                    looked_at += 1
                    heappush(open_, (headroom((*branch, *rest)), branch, start + 1))
        least = min(value, open_[0][0]) if open_ else value
        return Worst(value, Corner(point, frozenset(best)), least)


def limited(headroom: float | None) -> float | None:
    """None: nothing limits it."""
    return None if headroom == inf else headroom
