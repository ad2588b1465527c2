"""Distribution patterns: round robin and grouping (D-CAPE, algorithms 2 and 3, section 5.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import DistributionTable

Eligibility = Mapping[OperatorRef, frozenset[str]]
"""The nodes that an operator may run on; one that is missing may run anywhere."""

DistributionPattern = Callable[[DataflowGraph, Sequence[str], Eligibility], DistributionTable]
"""From the queries, the nodes in their order and who may run where: a distribution.

Raises ValueError where an operator may run on none of the nodes.
"""


class _Assignment:
    """Who is where so far."""

    def __init__(self, nodes: Sequence[str], eligible: Eligibility) -> None:
        if not nodes:
            raise ValueError("no node to distribute operators to; give at least one")
        self.nodes, self.eligible = nodes, eligible
        self.table: dict[OperatorRef, str] = {}
        self.workload: Counter[str] = Counter()

    def may_run(self, ref: OperatorRef, node: str) -> bool:
        return ref not in self.eligible or node in self.eligible[ref]

    def assign(self, ref: OperatorRef, node: str) -> None:
        self.table[ref] = node
        self.workload[node] += 1

    def emptiest(self, ref: OperatorRef) -> str:
        """The node with the fewest operators of those that one may run on, of equals the first."""
        usable = [node for node in self.nodes if self.may_run(ref, node)]
        if not usable:
            listed = ", ".join(sorted(self.eligible[ref])) or "none"
            raise ValueError(
                f"operator {'/'.join(ref)} may run on {listed}, none of which is among the nodes"
            )
        return min(usable, key=lambda node: self.workload[node])


def round_robin(
    graph: DataflowGraph, nodes: Sequence[str], eligible: Eligibility | None = None
) -> DistributionTable:
    """Algorithm 2: each operator to the node that has the fewest. O(operators x nodes)."""
    assignment = _Assignment(nodes, eligible or {})
    for ref in graph.operators:
        assignment.assign(ref, assignment.emptiest(ref))
    return DistributionTable(assignment.table)


def grouping(
    graph: DataflowGraph, nodes: Sequence[str], eligible: Eligibility | None = None
) -> DistributionTable:
    """Algorithm 3, mended: neighbours together, about operators / nodes on each node. O(operators squared).

    From a leaf it climbs to the parents, and takes with a parent all that is below it where that fits. As
    printed it does not do that:

    - The loop over parents (lines 18 to 33) takes none once the machine is full, and so never ends: two
      operators in a row on two machines are enough. Here a full machine ends the climb, and the next machine
      goes on with the parent at which it ended.
    - It never climbs further than to the leaf's own parents, as o stays what it is (lines 18 and 21), and
      takes descendants of o where p's are meant (line 27). Here o becomes p.
    - Each plan's loop (line 8) begins at one leaf and ends with what that one reaches: other leaves are on no
      machine. Here it goes on with the next leaf in tree order until all are assigned; a plan that meets a
      full machine is not skipped (lines 34 to 37).
    - total / machines leaves a remainder, or is 0 where there are more machines than operators. Here the
      share is that of what is left among the machines that are left, rounded up, so that no two machines
      differ by more than one operator.

    An operator that may not run on the machine whose turn it is goes where it may and fewest are; that
    machine then takes as many fewer.
    """
    assignment = _Assignment(nodes, eligible or {})
    filling = _Filling(graph, assignment)
    for query in graph.queries:
        for start in graph.tree_order(query):
            if start not in assignment.table and not graph.children[start]:
                filling.climb(start)
        for ref in graph.tree_order(query):  # what no leaf has reached: its climb ended on the way
            if ref not in assignment.table:
                filling.climb(ref)
    return DistributionTable(assignment.table)


class _Filling:
    """The machine that is filled, and those after it."""

    def __init__(self, graph: DataflowGraph, assignment: _Assignment) -> None:
        self.graph, self.assignment = graph, assignment
        self.turn = 0
        self.share = self._share()

    def climb(self, start: OperatorRef) -> None:
        """Takes an operator, its parents one after the other, and what is below them where that fits."""
        ref: OperatorRef | None = start
        while ref is not None:
            self._take(ref)
            below = [d for d in self.graph.descendants(ref) if d not in self.assignment.table]
            if len(below) <= self._room():
                for descendant in below:
                    self._take(descendant)
            ref = next((p for p in self.graph.parents[ref] if p not in self.assignment.table), None)

    def _take(self, ref: OperatorRef) -> None:
        nodes, assignment = self.assignment.nodes, self.assignment
        while self._room() <= 0 and self.turn + 1 < len(nodes):
            self.turn += 1
            self.share = self._share()
        node = nodes[self.turn]
        assignment.assign(ref, node if assignment.may_run(ref, node) else assignment.emptiest(ref))

    def _room(self) -> int:
        return self.share - self.assignment.workload[self.assignment.nodes[self.turn]]

    def _share(self) -> int:
        """Of the present machine: what is left and what it has already, among the machines that are left."""
        left = len(self.graph.operators) - len(self.assignment.table)
        waiting = self.assignment.nodes[self.turn :]
        on_them = sum(self.assignment.workload[node] for node in waiting)
        return -(-(left + on_them) // len(waiting))


PATTERNS: Mapping[str, DistributionPattern] = {"round-robin": round_robin, "grouping": grouping}
"""By the paper's names."""
