"""The strategy that a policy names, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.strategies import select

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.planning.memory import plan_within_memory


@dataclass(frozen=True)
class StrategyCall:
    """How a problem is planned; `time_limit` in seconds, `options` as in `weir strategies`."""

    name: str
    objective: str
    seed: int
    time_limit: float
    options: Mapping[str, str]

    @classmethod
    def of(cls, policy: PlacementPolicySpec) -> StrategyCall:
        """As the policy says."""
        strategy = policy.strategy
        return cls(strategy.name, policy.objective, strategy.seed, strategy.time_limit, strategy.parameters)

    def run(self, problem: Problem) -> Result:
        """Plan the problem, without queries whose state has no room (`plan_within_memory`).

        Raises:
            KeyError: there is no such strategy.
            ValueError: the strategy refuses an option's value, or a node without its tier's label.
        """
        strategy = select(self.name, self.objective)
        return plan_within_memory(
            lambda rest: strategy.plan(
                rest,
                objective=self.objective,
                seed=self.seed,
                time_limit=self.time_limit,
                options=self.options,
            ),
            problem,
        )
