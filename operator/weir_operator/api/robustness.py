"""A part of PlacementPolicy: plans for the worst of many rates and selectivities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from weir_operator.api.base import CelRule, Model


class RobustnessSpec(Model):
    """Plans for the worst of the rates and selectivities that may be."""

    deviations: Annotated[int, Field(ge=0, le=10000)] | None = Field(
        None,
        description="How many rates and selectivities may be at their largest at once; by default all.",
    )
    selectivity_factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="Largest selectivity over the expected one, where an operator has no maxSelectivity."
    )
    rate_factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        1.0, description="Largest rate over the expected one, where a point of a profile has no maxRates."
    )


def _no_clones(raw: Mapping[str, Any]) -> bool:
    strategy = raw.get("strategy")
    parameters = strategy.get("parameters") if isinstance(strategy, Mapping) else None
    clones = parameters.get("clones", "1") if isinstance(parameters, Mapping) else "1"
    return raw.get("robustness") is None or clones == "1"


ROBUST = (
    CelRule(
        cel="!has(self.robustness) || !has(self.objective) || self.objective == 'headroom'",
        message="robust plans are for objective headroom: leave out robustness, or the other objective",
        holds=lambda raw: raw.get("robustness") is None or raw.get("objective", "headroom") == "headroom",
        field="robustness",
    ),
    CelRule(
        cel="!has(self.robustness) || !has(self.strategy) || !has(self.strategy.parameters) || "
        "!('clones' in self.strategy.parameters) || self.strategy.parameters['clones'] == '1'",
        message="robust plans have no clones: leave clones out of strategy.parameters",
        holds=_no_clones,
        field="robustness",
    ),
)
"""Rules of a policy that has it."""
