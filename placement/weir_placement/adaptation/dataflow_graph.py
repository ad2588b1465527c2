"""The query plans as D-CAPE sees them (section 5.1.2): operators, their parents and their children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from weir_placement.cost.flows import readers
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query

OperatorRef = tuple[str, str]
"""(query, operator id)."""


class DataflowGraph:
    """All operators of queries. A child feeds its parents, a leaf reads streams alone, a root is delivered.

    Attributes:
        queries: by name, in their order.
        operators: by reference, children before their parents.
    """

    def __init__(self, queries: Iterable[Query]) -> None:
        self.queries: Mapping[str, Query] = {query.name: query for query in queries}
        self.operators: Mapping[OperatorRef, Operator] = {
            (name, op.id): op for name, query in self.queries.items() for op in query.operators
        }

    @cached_property
    def parents(self) -> Mapping[OperatorRef, tuple[OperatorRef, ...]]:
        """Who reads an operator, each once."""
        return {
            (name, producer): tuple(dict.fromkeys((name, op.id) for op in consumers))
            for name, query in self.queries.items()
            for producer, consumers in readers(query).items()
            if producer not in query.sources
        }

    @cached_property
    def children(self) -> Mapping[OperatorRef, tuple[OperatorRef, ...]]:
        """The operators that an operator reads, each once."""
        return {
            (name, op.id): tuple(dict.fromkeys((name, i) for i in op.inputs if i not in query.sources))
            for name, query in self.queries.items()
            for op in query.operators
        }

    @cached_property
    def streams(self) -> Mapping[OperatorRef, tuple[str, ...]]:
        """The source streams that an operator reads, each once."""
        return {
            (name, op.id): tuple(dict.fromkeys(query.sources[i] for i in op.inputs if i in query.sources))
            for name, query in self.queries.items()
            for op in query.operators
        }

    @cached_property
    def roots(self) -> frozenset[OperatorRef]:
        """The operators whose output is delivered."""
        return frozenset((q.name, q.operators[-1].id) for q in self.queries.values() if q.operators)

    def descendants(self, ref: OperatorRef) -> list[OperatorRef]:
        """All operators below one, the leaves of its first input first, each once and before its parents."""
        found_order: dict[OperatorRef, None] = {}

        def visit(below: OperatorRef) -> None:
            for child in self.children[below]:
                if child not in found_order:
                    visit(child)
                    found_order[child] = None

        visit(ref)
        return list(found_order)

    def tree_order(self, query: str) -> Sequence[OperatorRef]:
        """A query's operators depth first from its root; those that do not reach the root at the end."""
        own = [ref for ref in self.operators if ref[0] == query]
        ordered: dict[OperatorRef, None] = {}
        for root in reversed(own):
            if root not in ordered:
                ordered.update(dict.fromkeys([*self.descendants(root), root]))
        return list(ordered)
