"""How full a node is, by one of several models (D-CAPE, sections 6.1 and 6.2, equations 4 and 5).

A policy sees the table alone and not what its numbers are, so every policy works with every model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Protocol

from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import DistributionTable
from weir_placement.adaptation.statistics import StatisticsTable


@dataclass(frozen=True)
class NodeCapacity:
    """Static properties of a node (table 4) that costs are shares of.

    Attributes:
        tuples: that its memory holds.
        cpu: [CPU-us/s].
        sent: [tuples/s] that it can send; infinite: not known.
    """

    tuples: float
    cpu: float
    sent: float = inf


@dataclass(frozen=True)
class RunningState:
    """What a cost is calculated from: the present distribution, the statistics, the nodes (section 6.1)."""

    graph: DataflowGraph
    table: DistributionTable
    statistics: StatisticsTable
    capacities: Mapping[str, NodeCapacity]

    def distributed(self, table: DistributionTable) -> RunningState:
        """The same statistics under another distribution."""
        return replace(self, table=table)

    def within(self, nodes: Collection[str]) -> RunningState:
        """As a manager of some nodes sees it: others have no costs, and no operator moves to or from them."""
        return replace(self, capacities={n: c for n, c in self.capacities.items() if n in nodes})

    def sends(self, ref: OperatorRef) -> bool:
        """Whether an operator's output leaves its node: to a parent elsewhere, or to whom it is delivered."""
        node = self.table[ref]
        return ref in self.graph.roots or any(self.table[p] != node for p in self.graph.parents[ref])


@dataclass(frozen=True)
class NodeCostTable:
    """Costs by node, normalised (0 idle, 1 full), and the part of each operator: they add up to the node's.

    >>> table = NodeCostTable({"a": 0.5, "b": 0.1}, {("q", "join"): 0.4, ("q", "select"): 0.1})
    >>> table.highest, table.lowest, table.share(("q", "join"), "a")
    ('a', 'b', 0.8)
    """

    nodes: Mapping[str, float]
    operators: Mapping[OperatorRef, float]

    @property
    def highest(self) -> str:
        """The node with the highest cost, of equals the first by name."""
        return min(self.nodes, key=lambda node: (-self.nodes[node], node))

    @property
    def lowest(self) -> str:
        """The node with the lowest cost, of equals the first by name."""
        return min(self.nodes, key=lambda node: (self.nodes[node], node))

    def share(self, ref: OperatorRef, node: str) -> float:
        """Equation 5: an operator's part of its node's cost; 0 where nothing costs anything."""
        return self.operators[ref] / self.nodes[node] if self.nodes[node] else 0.0


class CostModel(Protocol):
    """A plug-in."""

    @property
    def name(self) -> str:
        """As an administrator chooses it."""

    def table(self, state: RunningState) -> NodeCostTable:
        """The cost of each node that has a capacity, and of what is on it."""

    def strain(self, state: RunningState) -> Mapping[str, float]:
        """By node, from 0 to about 1: what rises when a node degrades."""


@dataclass(frozen=True)
class _LoadModel:
    """A node is as full as what its operators add up to, over what it can hold; that is its strain too."""

    name: str

    def amount(self, state: RunningState, ref: OperatorRef) -> float:
        raise NotImplementedError

    def capacity(self, state: RunningState, node: str) -> float:
        raise NotImplementedError

    def table(self, state: RunningState) -> NodeCostTable:
        full = {node: self.capacity(state, node) for node in state.capacities}
        operators = {
            ref: self.amount(state, ref) / full[node] if full[node] else 0.0
            for ref, node in state.table.nodes.items()
            if node in full
        }
        nodes = dict.fromkeys(state.capacities, 0.0)
        for ref, cost in operators.items():
            nodes[state.table[ref]] += cost
        return NodeCostTable(nodes, operators)

    def strain(self, state: RunningState) -> Mapping[str, float]:
        return self.table(state).nodes


@dataclass(frozen=True)
class MemoryCost(_LoadModel):
    """Tuples in memory, in states and queues, over how many there is room for (figure 34)."""

    name: str = "memory"

    def amount(self, state: RunningState, ref: OperatorRef) -> float:
        reported = state.statistics[ref]
        return sum(reported.state) + reported.queued

    def capacity(self, state: RunningState, node: str) -> float:
        return state.capacities[node].tuples


@dataclass(frozen=True)
class CpuCost(_LoadModel):
    """CPU that all that arrives needs, over what the node has; above 1 it falls behind."""

    name: str = "cpu"

    def amount(self, state: RunningState, ref: OperatorRef) -> float:
        return state.statistics[ref].cpu

    def capacity(self, state: RunningState, node: str) -> float:
        return state.capacities[node].cpu


@dataclass(frozen=True)
class BacklogCost(_LoadModel):
    """The work that waits, over what a node does in `patience` [s]: 1 is a node that is so far behind."""

    name: str = "backlog"
    patience: float = 60.0

    def amount(self, state: RunningState, ref: OperatorRef) -> float:
        return state.statistics[ref].queued * state.statistics[ref].cost

    def capacity(self, state: RunningState, node: str) -> float:
        return self.patience * state.capacities[node].cpu


@dataclass(frozen=True)
class NetworkOutputCost(_LoadModel):
    """The rate at which a node sends tuples (equations 4 and 5), over what it can send.

    Equation 4 is a rate and no share. Where no node says what it can send, costs are shares of what all nodes
    send together. A node is strained when it sends less than its input would make: 1 - sent / due. The rate
    alone falls every night, and that of a join falls by more than its input does, so it says nothing about
    the node; what is due is what leaves over the share of its input that each operator on the way, on this
    node, has processed.
    """

    name: str = "network-output"

    def amount(self, state: RunningState, ref: OperatorRef) -> float:
        return state.statistics[ref].output if state.sends(ref) else 0.0

    def capacity(self, state: RunningState, node: str) -> float:
        if all(isfinite(capacity.sent) for capacity in state.capacities.values()):
            return state.capacities[node].sent
        return sum(self.amount(state, ref) for ref, n in state.table.nodes.items() if n in state.capacities)

    def strain(self, state: RunningState) -> Mapping[str, float]:
        served = _served_within_nodes(state)
        sent, due = dict.fromkeys(state.capacities, 0.0), dict.fromkeys(state.capacities, 0.0)
        stalled = set()
        for ref, node in state.table.nodes.items():
            if node in state.capacities and state.sends(ref):
                output = state.statistics[ref].output
                sent[node] += output
                if served[ref] > 0.0:
                    due[node] += output / served[ref]
                else:
                    stalled.add(node)
        return {
            node: 1.0 if node in stalled else 1.0 - sent[node] / due[node] if due[node] else 0.0
            for node in state.capacities
        }


def _served_within_nodes(state: RunningState) -> dict[OperatorRef, float]:
    """Share of an operator's due output that is made, for what it and those below it on its node process."""
    served: dict[OperatorRef, float] = {}
    for ref in state.graph.operators:
        below = [c for c in state.graph.children[ref] if state.table[c] == state.table[ref]]
        served[ref] = state.statistics[ref].served * min((served[c] for c in below), default=1.0)
    return served


@dataclass(frozen=True)
class WeightedCost:
    """A weighted sum of models, its weights scaled so that they add up to 1.

    Raises:
        ValueError: no weight is above 0, or one is below.
    """

    parts: Sequence[tuple[CostModel, float]]
    name: str = "weighted"

    def __post_init__(self) -> None:
        weights = [weight for _, weight in self.parts]
        if not all(isfinite(weight) and weight >= 0.0 for weight in weights) or not sum(weights):
            listed = ", ".join(f"{model.name} {weight:g}" for model, weight in self.parts) or "none"
            raise ValueError(f"weights of cost models: {listed}; each must be at least 0 and one above it")

    def table(self, state: RunningState) -> NodeCostTable:
        total = sum(weight for _, weight in self.parts)
        tables = [(model.table(state), weight / total) for model, weight in self.parts]
        first = tables[0][0]
        return NodeCostTable(
            {node: sum(w * t.nodes[node] for t, w in tables) for node in first.nodes},
            {ref: sum(w * t.operators[ref] for t, w in tables) for ref in first.operators},
        )

    def strain(self, state: RunningState) -> Mapping[str, float]:
        total = sum(weight for _, weight in self.parts)
        strains = [(model.strain(state), weight / total) for model, weight in self.parts]
        return {node: sum(w * each[node] for each, w in strains) for node in state.capacities}


COST_MODELS: Mapping[str, CostModel] = {
    model.name: model for model in (MemoryCost(), NetworkOutputCost(), CpuCost(), BacklogCost())
}
"""By name; a weighted sum is made of them."""
