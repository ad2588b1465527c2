"""When and how a policy may redistribute (D-CAPE, table 5; the text calls it table 6.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from weir_placement.adaptation.cost_models import NodeCostTable, RunningState
from weir_placement.adaptation.dataflow_graph import OperatorRef


@dataclass(frozen=True)
class RedistributionParameters:
    """All but the cost table, which changes and comes from the model.

    Attributes:
        percent_difference: [%] by which the highest cost must exceed the lowest, and by which a node must
            have degraded. Costs are shares of what is full, so these are points: 0.9 and 0.2 differ by 70 %.
            At 0 any difference counts, at 100 none does.
        eligible_operators: those that may move; None: all.
        eligible_processors: nodes that may get operators; None: all.
        smallest_state, largest_state: [tuples] that an operator which moves may keep, both included.

    Raises:
        ValueError: the percentage is not from 0 to 100, or the range of sizes is empty.
    """

    percent_difference: float = 10.0
    eligible_operators: frozenset[OperatorRef] | None = None
    eligible_processors: frozenset[str] | None = None
    smallest_state: float = 0.0
    largest_state: float = inf

    def __post_init__(self) -> None:
        if not 0.0 <= self.percent_difference <= 100.0:
            percent = self.percent_difference
            raise ValueError(f"percent difference is {percent:g}; it must be from 0 (always) to 100 (never)")
        if not self.smallest_state <= self.largest_state:
            raise ValueError(
                f"state size is from {self.smallest_state:g} to {self.largest_state:g} tuples; "
                "the first must not be above the second"
            )

    def exceeded(self, difference: float) -> bool:
        """Whether a difference of costs is large enough.

        >>> RedistributionParameters(percent_difference=0).exceeded(0.01)
        True
        >>> RedistributionParameters(percent_difference=100).exceeded(2.0)
        False
        """
        return self.percent_difference < 100.0 and difference > self.percent_difference / 100.0

    def may_move(self, state: RunningState, ref: OperatorRef) -> bool:
        """Whether an operator is eligible, and its state within the range."""
        size = sum(state.statistics[ref].state)
        listed = self.eligible_operators is None or ref in self.eligible_operators
        return listed and self.smallest_state <= size <= self.largest_state

    def receivers(self, costs: NodeCostTable) -> Iterable[str]:
        """The nodes that may get operators, the cheapest first."""
        allowed = self.eligible_processors
        usable = [node for node in costs.nodes if allowed is None or node in allowed]
        return sorted(usable, key=lambda node: (costs.nodes[node], node))
