"""Where each operator runs: the distribution table, what is wrong with one, differences (section 5.1.3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef

Differences = Mapping[OperatorRef, str]
"""Operators that go elsewhere, and their new nodes."""


@dataclass(frozen=True)
class DistributionTable:
    """The node of each operator. A mapping has each operator once at most, as section 4.5 asks.

    >>> table = DistributionTable({("q", "select"): "a", ("q", "join"): "b"})
    >>> table.differences(table.with_moves({("q", "join"): "a"}))
    {('q', 'join'): 'a'}
    """

    nodes: Mapping[OperatorRef, str]

    def __getitem__(self, ref: OperatorRef) -> str:
        return self.nodes[ref]

    def on(self, node: str) -> list[OperatorRef]:
        """The operators of a node, in the order of the table."""
        return [ref for ref, place in self.nodes.items() if place == node]

    def with_moves(self, moves: Differences) -> DistributionTable:
        """The table after some operators have moved."""
        return DistributionTable({**self.nodes, **moves})

    def differences(self, new: DistributionTable) -> Differences:
        """What algorithm 5 calls the difference table (line 8): only what another table has elsewhere."""
        return {ref: node for ref, node in new.nodes.items() if self.nodes.get(ref) != node}


def faults(table: DistributionTable, graph: DataflowGraph, alive: Collection[str]) -> list[str]:
    """Why a table may not be activated; empty: it is valid (sections 4.5 and 5.1.3).

    Every operator is in it, nothing else is, and every node in it answers when asked whether it is alive.
    """
    wrong = [f"operator {q}/{op} is on no node" for q, op in graph.operators if (q, op) not in table.nodes]
    wrong += [f"operator {q}/{op} is in no query" for q, op in table.nodes if (q, op) not in graph.operators]
    for node in dict.fromkeys(table.nodes.values()):
        if node not in alive:
            names = ", ".join("/".join(ref) for ref in table.on(node))
            wrong.append(f"node {node}, which is to run {names}, does not answer")
    return wrong


def pieces(table: DistributionTable, graph: DataflowGraph) -> list[frozenset[OperatorRef]]:
    """Groups of neighbours on one node: the pieces of a fragmented plan in section 5.1.3. O(operators)."""
    left, groups = set(table.nodes), []
    for start in table.nodes:
        if start not in left:
            continue
        group, frontier = {start}, [start]
        left.discard(start)
        while frontier:
            ref = frontier.pop()
            for near in _neighbours(graph, ref):
                if near in left and table[near] == table[start]:
                    left.discard(near)
                    group.add(near)
                    frontier.append(near)
        groups.append(frozenset(group))
    return groups


def _neighbours(graph: DataflowGraph, ref: OperatorRef) -> Iterable[OperatorRef]:
    return (*graph.parents[ref], *graph.children[ref])
