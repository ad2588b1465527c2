"""What a strategy is: a function of a problem, a request and its own options, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic

from weir_placement.budget.admission import plan_within
from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.options import O, Option, OptionError, errors, options_of, read
from weir_placement.request import PlanRequest

StrategyFunction = Callable[[Problem, PlanRequest, O], Result]
"""Plans a problem as requested, with options."""


@dataclass(frozen=True)
class Strategy(Generic[O]):
    """One line of `weir strategies`; `paper` is a short name of docs/papers.md with the section."""

    name: str
    paper: str
    objectives: tuple[Objective, ...]
    guarantee: str
    function: StrategyFunction[O]
    parameters: type[O]

    @property
    def options(self) -> Mapping[str, Option]:
        """By name, as `--set` and a policy's `strategy.parameters` take them."""
        return options_of(self.parameters)

    def option_errors(self, options: Mapping[str, str], objective: str) -> list[OptionError]:
        """What is wrong with some settings for an objective."""
        return list(errors(self.parameters, options, objective))

    def plan(
        self,
        problem: Problem,
        *,
        objective: Objective,
        seed: int,
        time_limit: float,
        options: Mapping[str, str] | None = None,
    ) -> Result:
        """Plans a problem, within its budgets; `time_limit` is in seconds.

        Raises:
            ValueError: an objective that it does not have, an option or a value that is not possible.
        """
        if objective not in self.objectives:
            raise ValueError(f"strategy {self.name} plans for {', '.join(self.objectives)}, not {objective}")
        values = read(self.parameters, options or {}, objective)
        request = PlanRequest(objective, seed, time_limit)
        if not problem.budgets:
            return self.function(problem, request, values)
        return plan_within(lambda part, rest: self.function(part, rest, values), problem, request)
