"""Objectives: what is best, and how two plans, or a plan and its bound, compare by it.

A strategy says which ones it plans for; budgets, moves of a running plan, reports and policies ask here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from weir_placement.cost.evaluation import Evaluation

RATIO = "x"
"""The symbol of a value that is a multiple of the profile."""

EQUAL = 1e-9
"""Relative: values that differ by less are equal."""


@dataclass(frozen=True)
class Objective:
    """One way to say which plan is best; `value` is None where nothing limits it."""

    name: str
    words: str
    unit: str
    better: Literal["more", "less"]
    value: Callable[[Evaluation], float | None]
    at_profile: bool = True
    """Its value is that at the profile, which the plan must then carry."""
    second: str = "headroom"
    """The objective that decides between equals, by its name."""
    symbol: str = ""
    """What stands behind a figure in a table: RATIO, or the unit, before which a decimal prefix may be."""
    enough: float = inf
    """A value beyond which more counts for nothing, but fewer hosts do."""

    def score(self, evaluation: Evaluation) -> float:
        """The value as a number of which more is better; -inf for a plan that cannot be carried out."""
        if not evaluation.feasible:
            return -inf
        return min(self.merit(self.value(evaluation)), self.enough)

    def merit(self, value: float | None) -> float:
        """A value as a number of which more is better; inf for None, where nothing limits it."""
        if value is None:
            return inf
        return value if self.better == "more" else -value

    def up_to(self, enough: float | None) -> Objective:
        """As this one, with a value that is enough (None: there is none)."""
        return self if enough is None else replace(self, enough=enough)

    def rank(self, evaluation: Evaluation) -> tuple[float, ...]:
        """The score, fewer hosts where there is an `enough`, and the score of the second objective, which
        decides between equals."""
        hosts = () if self.enough == inf else (-float(evaluation.hosts),)
        return self.score(evaluation), *hosts, OBJECTIVES[self.second].score(evaluation)

    def gains(self, now: Evaluation, then: Evaluation, share: float) -> bool:
        """Whether a plan is better by at least a share of the worse value."""
        if not self.score(then) > self.score(now):
            return False
        before, after = self.value(now), self.value(then)
        if before is None or after is None:
            return True
        return after >= before * (1 + share) if self.better == "more" else after * (1 + share) <= before

    def reached(self, value: float, bound: float) -> bool:
        """Whether a value is no worse than a bound, but for rounding."""
        return value >= bound * (1 - EQUAL) if self.better == "more" else value <= bound * (1 + EQUAL)

    def outer(self, value: float, bound: float) -> float:
        """The bound, or the value if that is better."""
        return max(value, bound) if self.better == "more" else min(value, bound)

    def change(self, now: Evaluation, then: Evaluation) -> str:
        """From one value to another, as events and the report say it."""
        return f"{self.words} {self._shown(now)} to {self._shown(then)} {self.unit}"

    def _shown(self, evaluation: Evaluation) -> str:
        value = self.value(evaluation) if evaluation.feasible else -1.0
        return "unbounded" if value is None else f"{value:.3g}"


HEADROOM = Objective(
    "headroom",
    "headroom",
    "x the profile",
    "more",
    lambda e: e.headroom,
    at_profile=False,
    second="network-usage",
    symbol=RATIO,
)
NETWORK_USAGE = Objective(
    "network-usage",
    "network usage",
    "bytes in transit",
    "less",
    lambda e: e.network_usage,
    symbol="B in transit",
)
OBJECTIVES = {objective.name: objective for objective in (HEADROOM, NETWORK_USAGE)}
