"""The distribution manager from its start on (D-CAPE, section 4.5, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from weir_placement.adaptation.connection_limit import within_limit
from weir_placement.adaptation.connections import ConnectionRequest, connect
from weir_placement.adaptation.cost_models import RunningState
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import DistributionTable, faults
from weir_placement.adaptation.patterns import DistributionPattern, Eligibility
from weir_placement.adaptation.reallocation import ReallocationStep, reallocate
from weir_placement.adaptation.redistribution import HeadroomOf, RedistributionReport, Redistributor
from weir_placement.model.problem import Query


class QueryProcessors(Protocol):
    """What the manager needs of the nodes: a port, with a simulation or a cluster behind it."""

    def configure(self, node: str, queries: Sequence[Query]) -> bool:
        """Sends a node all that it may have to know; whether it responds."""

    def send(self, request: ConnectionRequest) -> None:
        """Passes a request on to its receiver."""

    def carry_out(self, step: ReallocationStep) -> None:
        """Waits for what the step awaits, then passes its requests on."""

    def state(self, graph: DataflowGraph, table: DistributionTable) -> RunningState:
        """The last statistics of the operators, and the nodes that answer."""


class NoProcessorsError(RuntimeError):
    """No node responded to its configuration (algorithm 1, lines 9 to 11); they are named."""


@dataclass
class DistributionManager:
    """Algorithm 1. Strategies are chosen before it starts: pattern, cost model, policy.

    Attributes:
        limit: connections that a node may have; None: not limited.
    """

    processors: QueryProcessors
    pattern: DistributionPattern
    redistributor: Redistributor
    limit: int | None = None

    def start(
        self, queries: Iterable[Query], nodes: Sequence[str], eligible: Eligibility | None = None
    ) -> tuple[DataflowGraph, DistributionTable]:
        """Lines 1 to 16: configures the nodes, leaves out those that do not respond, distributes, connects.

        Raises:
            NoProcessorsError: none responds.
            ConnectionsExceededError: no distribution near the pattern's is within the limit.
            ValueError: an operator may run on none of those that respond.
        """
        graph = DataflowGraph(queries)
        active = [node for node in nodes if self.processors.configure(node, tuple(graph.queries.values()))]
        if not active:
            raise NoProcessorsError(f"none of the nodes responds: {', '.join(nodes) or 'there are none'}")
        table = self.pattern(graph, active, eligible or {})
        if self.limit is not None:
            table = within_limit(table, graph, active, self.limit, eligible)
        assert not faults(table, graph, active), "a pattern places every operator on a node that it was given"
        for request in connect(table, graph):
            self.processors.send(request)
        for node in dict.fromkeys(table.nodes.values()):
            self.processors.send(ConnectionRequest("SendStatistics", node, ("", "")))
        return graph, table

    def round(
        self, now: float, graph: DataflowGraph, table: DistributionTable, headroom: HeadroomOf | None = None
    ) -> RedistributionReport:
        """Lines 18 to 20: statistics, workloads, algorithm 5; only what has moved is connected anew."""
        state = self.processors.state(graph, table)
        report = self.redistributor.round(now, state, list(state.capacities), headroom)
        for step in reallocate(table, report.table, graph):
            self.processors.carry_out(step)
        return report
