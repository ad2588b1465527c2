"""What a strategy is: a function of a problem, a request and its own options, and its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Generic

from weir_placement.budget.admission import plan_within
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.objectives import HEADROOM, OBJECTIVES, Objective
from weir_placement.options import O, Option, OptionError, errors, options_of, read
from weir_placement.request import PlanRequest
from weir_placement.robust import plan_robust
from weir_placement.timeliness import in_time

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

    def plans_for(self, objective: str) -> bool:
        """Whether it has an objective of this name."""
        return any(each.name == objective for each in self.objectives)

    def option_errors(self, options: Mapping[str, str], objective: str) -> list[OptionError]:
        """What is wrong with some settings for an objective."""
        return list(errors(self.parameters, options, objective))

    def plan(
        self,
        problem: Problem,
        *,
        objective: str,
        seed: int,
        time_limit: float,
        options: Mapping[str, str] | None = None,
    ) -> Result:
        """Plans a problem, within its budgets; `time_limit` is in seconds. The result's `seconds` are
        those of everything: searches that were given up, proofs, compilation.

        Raises:
            ValueError: an objective that it does not have, an option or a value that is not possible, a
                robust plan for another objective than headroom or with clones.
        """
        started = perf_counter()
        planned = self._plan(problem, objective, seed, time_limit, options or {})
        return replace(planned, seconds=perf_counter() - started)

    def _plan(
        self, problem: Problem, objective: str, seed: int, time_limit: float, options: Mapping[str, str]
    ) -> Result:
        if not self.plans_for(objective):
            able = ", ".join(each.name for each in self.objectives)
            raise ValueError(f"strategy {self.name} plans for {able}, not {objective}")
        values = read(self.parameters, options, objective)

        def plan(each: Problem, seconds: float) -> Result:
            request = PlanRequest(OBJECTIVES[objective], seed, seconds)
            if not each.budgets:
                return self.function(each, request, values)
            return plan_within(lambda part, rest: self.function(part, rest, values), each, request)

        if problem.robustness is None:
            return in_time(problem, plan(problem, time_limit))
        if objective != HEADROOM.name:
            raise ValueError(f"robust plans are for {HEADROOM.name}, not {objective}")
        if getattr(values, "clones", 1) > 1:
            raise ValueError("robust plans have no clones: leave clones out")
        return plan_robust(plan, replace(problem, enough=None), time_limit)
