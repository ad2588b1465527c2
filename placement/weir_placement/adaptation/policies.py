"""Redistribution policies: balance and degradation (D-CAPE, section 6.3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from weir_placement.adaptation.connections import connections
from weir_placement.adaptation.cost_models import CostModel, RunningState
from weir_placement.adaptation.dataflow_graph import OperatorRef
from weir_placement.adaptation.distribution_table import Differences
from weir_placement.adaptation.redistribution_parameters import RedistributionParameters

GAIN = 1e-9
"""A cost that falls by less than this falls by rounding."""


@dataclass(frozen=True)
class PolicyInput:
    """What a policy may look at.

    Attributes:
        baseline: strain of each node since operators were last allocated on it, at its least; a node without
            one has not degraded.
    """

    state: RunningState
    model: CostModel
    parameters: RedistributionParameters
    baseline: Mapping[str, float]


class RedistributionPolicy(Protocol):
    """A plug-in."""

    @property
    def name(self) -> str:
        """As an administrator chooses it."""

    def proposals(self, given: PolicyInput) -> Iterator[Differences]:
        """Moves to make, the most wanted first: algorithm 5 tries one after the other. None: stay."""


@dataclass(frozen=True)
class BalancePolicy:
    """Moves operators from the node with the highest cost to that with the lowest until no move helps.

    A move helps when it lowers the higher cost of the two nodes, and raises no other node above what the
    highest was. Nodes between the two are left alone ("it may disrupt a set of operators on the processors
    that were performing well"), but after each move other nodes may be the highest and the lowest. Costs,
    sorted from the highest, fall at each move, so it ends.

    Proposed are all of these moves, then all but the last, and so on, so that what cannot be made as a whole
    is made in part. Complexity: O(operators) tables a move.
    """

    name: str = "balance"

    def proposals(self, given: PolicyInput) -> Iterator[Differences]:
        """Nothing where the costs differ by no more than the percent difference."""
        steps, state = list[tuple[OperatorRef, str]](), given.state
        costs = given.model.table(state).nodes
        if not costs or not given.parameters.exceeded(max(costs.values()) - min(costs.values())):
            return
        while (step := self._step(given, state)) is not None:
            steps.append(step)
            state = state.distributed(state.table.with_moves(dict([step])))
        for count in range(len(steps), 0, -1):
            moves = dict(steps[:count])  # what moved twice is where it went last
            changed = given.state.table.with_moves(moves)
            if differences := given.state.table.differences(changed):
                yield differences

    def _step(self, given: PolicyInput, state: RunningState) -> tuple[OperatorRef, str] | None:
        costs = given.model.table(state)
        receivers = list(given.parameters.receivers(costs))
        if not receivers:
            return None
        high, low = costs.highest, receivers[0]
        if high == low:
            return None
        best: tuple[float, float, OperatorRef] | None = None
        present = sorted(costs.nodes.values(), reverse=True)
        for ref in state.table.on(high):
            if not given.parameters.may_move(state, ref):
                continue
            after = given.model.table(state.distributed(state.table.with_moves({ref: low}))).nodes
            pair = max(after[high], after[low])
            if pair < costs.nodes[high] - GAIN and sorted(after.values(), reverse=True) < present:
                rank = (pair, abs(after[high] - after[low]), ref)
                best = rank if best is None else min(best, rank)
        return (best[2], low) if best else None


@dataclass(frozen=True)
class DegradationPolicy:
    """Takes the most costly operator off a node that has degraded since operators were allocated on it.

    A node has degraded when its strain exceeds its baseline by more than the percent difference. Those
    moves come first that leave the fewest connections in all, then those of the most costly operators, then
    those to where the cost is lowest; they go to nodes that cost no more and have degraded less. One operator
    moves at a time, so that a distribution can show what it does ("we will only move operators once per
    minute, to allow for sufficient time for a distribution to be tested").

    Complexity: O(operators of the node x nodes) tables.
    """

    name: str = "degradation"

    def proposals(self, given: PolicyInput) -> Iterator[Differences]:
        """For the node that has degraded most first."""
        strain = given.model.strain(given.state)
        risen = {node: now - given.baseline.get(node, now) for node, now in strain.items()}
        degraded = [node for node, rise in risen.items() if given.parameters.exceeded(rise)]
        for node in sorted(degraded, key=lambda n: (-risen[n], n)):
            yield from self._relief(given, node, risen)

    def _relief(self, given: PolicyInput, node: str, risen: Mapping[str, float]) -> Iterator[Differences]:
        state, costs = given.state, given.model.table(given.state)
        ranked = []
        for ref in state.table.on(node):
            if not given.parameters.may_move(state, ref):
                continue
            for receiver in given.parameters.receivers(costs):
                if risen[receiver] >= risen[node] or costs.nodes[receiver] > costs.nodes[node]:
                    continue
                moved = state.table.with_moves({ref: receiver})
                count = len(connections(moved, state.graph))
                ranked.append((count, -costs.operators[ref], costs.nodes[receiver], ref, receiver))
        for _, _, _, ref, receiver in sorted(ranked):
            yield {ref: receiver}


POLICIES: Mapping[str, RedistributionPolicy] = {
    policy.name: policy for policy in (BalancePolicy(), DegradationPolicy())
}
"""By the paper's names."""
