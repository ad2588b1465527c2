"""What a strategy is asked for, and what a strategy is: a function of a problem and of that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypedDict, Unpack

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem


class PlanRequest(TypedDict):
    """How to plan: `options` are the `--set KEY=VALUE` pairs, `time_limit` is in seconds."""

    objective: Objective
    seed: int
    time_limit: float
    options: Mapping[str, str]


class StrategyFunction(Protocol):
    """Plans a problem."""

    def __call__(self, problem: Problem, **request: Unpack[PlanRequest]) -> Result: ...
