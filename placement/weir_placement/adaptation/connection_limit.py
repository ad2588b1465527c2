"""Keeps a distribution within the connections that a node carries (D-CAPE, section 4.4: 8 to 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from weir_placement.adaptation.connections import SAFE_CONNECTIONS, connections_by_node
from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import Differences, DistributionTable, pieces
from weir_placement.adaptation.patterns import Eligibility


class ConnectionsExceededError(ValueError):
    """No move within reach brings every node within its limit; the message has the nodes and counts."""


def over_limit(counts: Counter[str], limit: int) -> dict[str, int]:
    """Nodes with more connections than allowed, and how many more.

    >>> over_limit(Counter(a=15, b=4), 12)
    {'a': 3}
    """
    return {node: count - limit for node, count in sorted(counts.items()) if count > limit}


def within_limit(
    table: DistributionTable,
    graph: DataflowGraph,
    nodes: Sequence[str],
    limit: int = SAFE_CONNECTIONS,
    eligible: Eligibility | None = None,
) -> DistributionTable:
    """A distribution near this one with at most `limit` connections on each node.

    The move of one operator, or of one piece, that takes away the most excess, then the most connections, is
    made until there is no excess: each step lowers the excess or, at equal excess, the connections, so it
    ends. It is a descent and may miss a distribution that only several moves at once would reach.

    Args:
        limit: connections of a node in and out, with source streams and deliveries.

    Raises:
        ConnectionsExceededError: where it ends with excess.

    Complexity: O(operators x nodes) distributions a move, O(operators + flows) each.
    """
    rank = _rank(table, graph, limit)
    while rank[0]:
        options = (
            (_rank(candidate, graph, limit), order, candidate)
            for order, moves in enumerate(_moves(table, graph, nodes, eligible or {}))
            for candidate in (table.with_moves(moves),)
        )
        best = min(options, default=None, key=lambda option: option[:2])
        if best is None or best[0] >= rank:
            over = over_limit(connections_by_node(table, graph), limit)
            listed = ", ".join(f"{node} has {limit + more}" for node, more in over.items())
            raise ConnectionsExceededError(
                f"no distribution near this one has at most {limit} connections on each node: {listed}; "
                "give more nodes or a higher limit"
            )
        rank, _, table = best
    return table


def _rank(table: DistributionTable, graph: DataflowGraph, limit: int) -> tuple[int, int]:
    counts = connections_by_node(table, graph)
    return sum(over_limit(counts, limit).values()), sum(counts.values())


def _moves(
    table: DistributionTable, graph: DataflowGraph, nodes: Sequence[str], eligible: Eligibility
) -> Iterator[Differences]:
    groups: list[frozenset[OperatorRef]] = [frozenset({ref}) for ref in table.nodes]
    groups += [group for group in pieces(table, graph) if len(group) > 1]
    for group in groups:
        for node in nodes:
            if node != table[next(iter(group))] and all(node in eligible.get(r, (node,)) for r in group):
                yield dict.fromkeys(group, node)
