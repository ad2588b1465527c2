"""What is asked of a strategy, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.objectives import Objective


@dataclass(frozen=True)
class PlanRequest:
    """How to plan."""

    objective: Objective
    seed: int
    time_limit: float  # [s]


def not_found(seconds: float) -> str:
    """Why a query is refused for which the time was over."""
    return f"no plan for it was found in {seconds:.3g} s; raise the time limit"


PlanFunction = Callable[[Problem, PlanRequest], Result]
"""A strategy with its options."""
