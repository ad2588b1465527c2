"""Every legal logical move of a query, and every plan that moves can reach ([1]_, section 5.3).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from weir_placement.model.expressions import columns_of, conjunction, conjuncts, source_types
from weir_placement.model.operators import Filter, Join, Operator, is_plain
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.rewrite.constraints import Classes, Constraints, Side, aliases_of
from weir_placement.rewrite.estimates import source_distinct
from weir_placement.rewrite.graph import OperatorGraph
from weir_placement.rewrite.joined_rate import JoinedRate, WrittenJoin, joined_rate
from weir_placement.rewrite.rules import RULES
from weir_placement.rewrite.shape import shape


@dataclass(frozen=True)
class Block:
    """Joins that may change order, as written; their aliases and what they check together."""

    joins: tuple[Join, ...]
    aliases: frozenset[str]
    constraints: Constraints
    rate: JoinedRate
    bits: Mapping[str, int]  # by alias, as `rate` numbers them

    def mask(self, aliases: frozenset[str]) -> int:
        """A set of its aliases in bits."""
        return sum(self.bits[alias] for alias in aliases)


class Rewriter:
    """The moves of one written query. `streams` tell the columns and event times of its sources."""

    def __init__(self, written: Query, streams: Mapping[str, Stream]) -> None:
        self.written = written
        self.streams = streams

    @cached_property
    def types(self) -> dict[str, str]:
        """Type by qualified source column."""
        streams = self.streams
        return source_types({a: streams[s] for a, s in self.written.sources.items() if s in streams})

    @cached_property
    def distinct(self) -> dict[str, float]:
        """Distinct values by qualified source column, where they are declared."""
        return source_distinct(
            {a: self.streams[s] for a, s in self.written.sources.items() if s in self.streams}
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The written query's join blocks, without those that share a source with another."""
        graph = OperatorGraph(self.written, self.streams)
        candidates = []
        for operator in self.written.operators:
            if isinstance(operator, Join) and not _inner(graph, operator):
                joins = _joins_below(graph, operator)
                order = [o for o in self.written.operators if isinstance(o, Join) and o.id in joins]
                constraints = Constraints.of(order, self.types)
                aliases = graph.aliases[operator.id]
                if _tellable(order, aliases):
                    candidates.append(self._block(graph, aliases, order, constraints))
        return tuple(
            b
            for b in candidates
            if not any(b is not other and b.aliases & other.aliases for other in candidates)
        )

    def _block(
        self, graph: OperatorGraph, aliases: frozenset[str], joins: list[Join], constraints: Constraints
    ) -> Block:
        bits = {alias: 1 << n for n, alias in enumerate(sorted(aliases))}
        written = []
        for join in joins:
            left, right = (sum(bits[a] for a in graph.aliases[i]) for i in join.inputs)
            conditions = constraints.conditions(join, bits)
            written.append(WrittenJoin(left, right, conditions, join.half_width, join.selectivity))
        rate = joined_rate(written, constraints.windows, bits, self.distinct)
        return Block(tuple(joins), aliases, constraints, rate, bits)

    def rejoined(self, query: Query) -> tuple[Query, dict[str, str]]:
        """A plan whose joins are in an order that is legal, with the conditions that each must check there,
        and its new ids by old. A join that does what a written one does is called as that.

        Raises:
            ValueError: a join that no window or equality remains for, or whose columns were projected away.
        """
        written = {op.id: op for op in self.written.operators}
        names: dict[str, str] = {}
        graph = OperatorGraph(replace(query, operators=()), self.streams)
        for op in query.operators:
            inputs = tuple(names.get(name, name) for name in op.inputs)
            moved: Operator = op.reading(*inputs)
            if isinstance(op, Join):
                aliases = frozenset[str]().union(*(graph.aliases[name] for name in inputs))
                block = next((b for b in self.blocks if aliases <= b.aliases), None)
                if block is not None:
                    moved = self._rejoined(graph, block, op, (inputs[0], inputs[1]), written)
            names[op.id] = moved.id
            operators = (*graph.query.operators, moved)
            graph = OperatorGraph(replace(query, operators=operators), self.streams)
        return graph.query, names

    def _rejoined(
        self,
        graph: OperatorGraph,
        block: Block,
        op: Join,
        inputs: tuple[str, str],
        written: Mapping[str, Operator],
    ) -> Join:
        join = self._join(graph, block, op, inputs, op.id, {})
        if join is None:
            raise ValueError(f"query {self.written.name}: no legal join of {' and '.join(inputs)}")
        aliases = graph.aliases[inputs[0]] | graph.aliases[inputs[1]]
        for like in block.joins:
            alike = set(like.windows) == set(join.windows) and aliases.issuperset(like.aliases)
            if alike and _checks(join) <= _checks(like):
                return replace(join, id=like.id, on=like.on, columns=like.columns, windows=like.windows)
        name = graph.fresh_id("j", written)
        return replace(join, id=name, origin=tuple(sorted(j.id for j in block.joins)))

    def neighbours(self, query: Query) -> Iterator[Query]:
        """The plans that one swap of an operator and its child makes of `query`, or leaving out a projection
        that drops nothing."""
        if self.written.fixed_order:
            return
        graph = OperatorGraph(query, self.streams)
        for top in query.operators:
            if graph.idle(top):
                yield graph.replaced([top.id], [], {top.id: top.inputs[0]}).query
            for name in dict.fromkeys(top.inputs):
                bottom = graph.operators.get(name)
                if bottom is None or graph.only_reader(name) != top.id or top.inputs.count(name) > 1:
                    continue
                rule = RULES.get((top.kind, bottom.kind))
                if rule is not None:
                    yield from (g.query for g in rule(graph, top, bottom))
                if isinstance(top, Join) and isinstance(bottom, Join):
                    yield from (g.query for g in self._reassociated(graph, top, bottom))

    def reachable(self, limit: int = 100_000) -> Iterator[Query]:
        """Every plan that moves can make of the written one, each once, by number of moves.

        Plans are told apart by `shape`: the order of a join's sides does not matter. At most `limit`.
        """
        shapes, pending = {shape(self.written)}, deque([self.written])
        yield self.written
        while pending:
            for query in self.neighbours(pending.popleft()):
                key = shape(query)
                if key not in shapes:
                    if len(shapes) >= limit:
                        return
                    shapes.add(key)
                    pending.append(query)
                    yield query

    def _reassociated(self, graph: OperatorGraph, top: Join, bottom: Join) -> Iterator[OperatorGraph]:
        """`(A B) C` as `(A C) B` and `(B C) A`."""
        aliases = graph.aliases[top.id]
        block = next((b for b in self.blocks if aliases <= b.aliases), None)
        if block is None:
            return
        (third,) = [i for i in top.inputs if i != bottom.id]
        for stays, leaves in (bottom.inputs, bottom.inputs[::-1]):
            lower = self._join(graph, block, bottom, (stays, third), bottom.id, {})
            if lower is None:
                continue
            equal = _equalities(block.constraints, [lower])
            upper = self._join(graph, block, top, (lower.id, leaves), top.id, {lower.id: lower}, equal)
            if upper is None:
                continue
            origin = tuple(sorted({o for op in (top, bottom) for o in (op.origin or (op.id,))}))
            ids = [graph.fresh_id("j")]
            ids.append(graph.fresh_id("j", ids))
            new_lower = replace(lower, id=ids[0], origin=origin)
            new_upper = replace(upper, id=ids[1], inputs=(ids[0], leaves), origin=origin)
            yield graph.replaced([top.id, bottom.id], [new_lower, new_upper], {top.id: ids[1]})

    def _join(
        self,
        graph: OperatorGraph,
        block: Block,
        like: Join,
        inputs: tuple[str, str],
        identifier: str,
        new: Mapping[str, Operator],
        equal: list[tuple[str, str]] | None = None,
    ) -> Join | None:
        """The join of two inputs, which are in the graph or in `new`; None when it is not legal.

        Its costs, memory and nodes are those of the first written join that has one of its windows.
        """
        sides = [self._side(graph, name, new) for name in inputs]
        left, right = sides
        constraints = block.constraints
        if not constraints.connected(left.aliases, right.aliases):
            return None
        below = Classes(equal or ())
        for name in inputs:
            for start in new[name].inputs if name in new else (name,):
                for pair in _equalities(constraints, _all_below(graph, start)):
                    below.join(*pair)
        texts = constraints.checked_at(left, right, below)
        if texts is None:
            return None
        windows = constraints.windows_between(left.aliases, right.aliases)
        like = next((join for join in block.joins if set(windows) & set(join.windows)), like)
        on = conjunction(texts)
        join = replace(like, id=identifier, inputs=inputs, on=on, columns=columns_of(on), windows=windows)
        masks = block.mask(left.aliases), block.mask(right.aliases)
        return replace(join, selectivity=block.rate.between(*masks, join.half_width))

    @staticmethod
    def _side(graph: OperatorGraph, name: str, new: Mapping[str, Operator]) -> Side:
        parts = new[name].inputs if name in new else (name,)
        aliases = frozenset[str]().union(*(graph.aliases[p] for p in parts))
        columns = [graph.columns[p] for p in parts]
        if any(c is None for c in columns):
            return Side(aliases, None)
        return Side(aliases, frozenset(c for part in columns for c in part or ()))


def _checks(join: Join) -> set[str]:
    return {c.text for c in conjuncts(join.on)}


def _inner(graph: OperatorGraph, join: Join) -> bool:
    """Whether another join of the same block reads this one, through filters and plain projections."""
    name = join.id
    while reader := graph.only_reader(name):
        operator = graph.operators[reader]
        if isinstance(operator, Join):
            return True
        if not isinstance(operator, Filter) and not is_plain(operator):
            return False
        name = reader
    return False


def _joins_below(graph: OperatorGraph, join: Join) -> set[str]:
    """The joins of the block under (and with) a join."""
    joins = {join.id}
    for name in join.inputs:
        while name in graph.operators and graph.only_reader(name):
            operator = graph.operators[name]
            if isinstance(operator, Join):
                joins |= _joins_below(graph, operator)
            if not isinstance(operator, Filter) and not is_plain(operator):
                break
            name = operator.inputs[0]
    return joins


def _tellable(joins: list[Join], aliases: frozenset[str]) -> bool:
    """Whether every condition reads columns of sources (not of an aggregate in between)."""
    return all(aliases_of(c) <= aliases for join in joins for c in join.columns) and all(
        {w.left, w.right} <= aliases for join in joins for w in join.windows
    )


def _all_below(graph: OperatorGraph, name: str) -> Iterator[Operator]:
    operator = graph.operators.get(name)
    if operator is not None:
        yield operator
        for below in operator.inputs:
            yield from _all_below(graph, below)


def _equalities(
    constraints: Constraints, operators: Iterator[Operator] | list[Operator]
) -> list[tuple[str, str]]:

    pairs = (
        constraints.pair(c.text) for o in operators if isinstance(o, Join) and o.on for c in conjuncts(o.on)
    )
    return [pair for pair in pairs if pair is not None]
