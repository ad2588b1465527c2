"""The fewest fragments that a query can have: a dynamic program over its operators and the nodes.

A fragment ends at each stream that is delivered, has several readers or leaves its node; so the fewest come
from keeping together what may run on one node. Capacities are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from math import inf

import numpy as np
from numpy.typing import NDArray

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.flows import flows_of, fragment_ends, readers, scaled
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem, Query

ORDERS = 200
"""Logical plans that are tried when no node may run all of a query's operators."""
Costs = NDArray[np.float64]


def fewest_fragments(problem: Problem, query: Query) -> QueryPlan:
    """A plan of the query, alone in the cluster, with the fewest fragments, then the least network usage.

    Operators that may not run on one node may come together in another order: of those orders that rewriting
    allows, up to `ORDERS` are tried. Every operator must have a node (`cost.allowed.impossible`).

    Complexity: O(operators x (nodes + groups of nodes squared)) for each order.
    """
    best = _Program(problem, query).plan()
    ends = sum(op.id in _roots(query) for op in query.operators)
    if query.fixed_order or len(fragment_ends(best)) == ends:
        return best
    from weir_placement.rewrite.rewriter import Rewriter  # imports the parser

    for order in islice(Rewriter(query, problem.streams).reachable(ORDERS), ORDERS):
        candidate = _Program(problem, order).plan()
        if len(fragment_ends(candidate)) < len(fragment_ends(best)):
            best = replace(candidate, query=replace(candidate.query, fixed_order=query.fixed_order))
    return best


def _roots(query: Query) -> set[str]:
    """Operators that end a fragment wherever they run."""
    return {op for op, consumers in readers(query).items() if len(consumers) > 1} | {
        op.id for op in query.operators[-1:]
    }


@dataclass
class _Program:
    """`table[op][n]`: fragments that have ended below `op` when it runs on node n, and the network usage of
    that as a fraction of one fragment."""

    problem: Problem
    query: Query
    table: dict[str, Costs] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)

    def plan(self) -> QueryPlan:
        """The best of the table's plans."""
        query, index = self.query, self.problem.cluster.index
        self.roots = _roots(query)
        rates = scaled(self.problem.points()[0])
        flows = flows_of(query, self.problem.streams, rates)
        size = {name: flow.bytes(1.0) for name, flow in flows.items()}
        longest = float(self.problem.cluster.network.latency.max(initial=0.0))
        whole = sum(size[name] for op in query.operators for name in op.inputs) * longest
        whole += max(size.values(), default=0.0) * longest
        self.weight = {name: (0.5 * bytes_ / whole if whole > 0 else 0.0) for name, bytes_ in size.items()}
        for op in query.operators:
            self._add(op)
            if op.id in self.roots:
                self._place(op, int(np.argmin(self.table[op.id])))
        origins = {alias: self._origin(alias) for alias in query.sources}
        sink = ""
        if query.deliver_to:
            last = query.operators[-1].id if query.operators else next(iter(query.sources))
            begin = self.nodes.get(last) or origins[last]
            present = [n for n in query.deliver_to if n in index]
            sink = min(present, key=lambda n: self._latency(index[begin], index[n]))
        return QueryPlan(query, self.nodes, origins, sink)

    def _add(self, op: Operator) -> None:
        index = self.problem.cluster.index
        costs = np.full(len(index), inf)
        costs[[index[n] for n in allowed_nodes(self.problem, self.query, op)]] = 0.0
        for name in op.inputs:
            if name in self.query.sources:
                origins = self.problem.streams[self.query.sources[name]].origins
                costs += self._from(name, [index[n] for n in origins if n in index])
            elif name in self.roots:
                costs += self._from(name, [index[self.nodes[name]]])
            else:
                costs += np.minimum(self.table[name], self._cut(name))
        if op.id == self.query.operators[-1].id and self.query.deliver_to:
            costs += self._to(op.id, [index[n] for n in self.query.deliver_to if n in index])
        self.table[op.id] = costs

    def _cut(self, child: str) -> Costs:
        """By node of the reader: the best when `child` runs on another node."""
        network = self.problem.cluster.network
        least = np.full(len(network.latency), inf)
        np.minimum.at(least, network.group, self.table[child])
        by_group = (least[:, None] + self.weight[child] * network.latency).min(axis=0)
        cut: Costs = 1.0 + by_group[network.group]
        return cut

    def _from(self, name: str, begins: list[int]) -> Costs:
        """Usage of a flow from the nearest of some nodes, by the node where it is read."""
        network = self.problem.cluster.network
        costs: Costs = self.weight[name] * network.latency[network.group[begins]].min(axis=0)[network.group]
        costs[begins] = 0.0
        return costs

    def _to(self, name: str, ends: list[int]) -> Costs:
        network = self.problem.cluster.network
        costs: Costs = self.weight[name] * network.latency[:, network.group[ends]].min(axis=1)[network.group]
        costs[ends] = 0.0
        return costs

    def _place(self, op: Operator, node: int) -> None:
        """The operator on a node, and what is below it where the table has it best."""
        self.nodes[op.id] = self.problem.cluster.names[node]
        operators = {o.id: o for o in self.query.operators}
        for name in op.inputs:
            if name in operators and name not in self.roots:
                below, child = self.table[name], node
                if below[node] > self._cut(name)[node]:
                    network = self.problem.cluster.network
                    way = network.latency[network.group, network.group[node]]
                    child = int(np.argmin(below + self.weight[name] * way))
                self._place(operators[name], child)

    def _origin(self, alias: str) -> str:
        index = self.problem.cluster.index
        places = [index[self.nodes[op.id]] for op in self.query.operators if alias in op.inputs]
        present = [n for n in self.problem.streams[self.query.sources[alias]].origins if n in index]
        return min(present, key=lambda n: sum(self._latency(index[n], reader) for reader in places))

    def _latency(self, begin: int, end: int) -> float:
        return self.problem.cluster.network.link_latency(begin, end)
