"""A normal form of a query: plain projections pushed down to the sources and merged (`rewrite.rules`).

A projection between two joins keeps them from changing places, and several on one path do the work of one.
Here they are taken as far down as the rules allow in one walk. One that computes or renames, as SQL's does,
stays, and what it does not read is dropped below the joins under it. What is left for a search to swap are
selections, joins, and projections on their side of the joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from weir_placement.model.operators import Filter, Item, Join, Operator, Project, is_plain
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream
from weir_placement.rewrite.function_costs import narrow_cost
from weir_placement.rewrite.graph import OperatorGraph


@dataclass
class _Pending:
    """A projection on its way down: the operator it comes from, the columns that are pending.

    `spare`: of one that stays, so that it may be left out where it would drop nothing; `idle` until it is
    below a join: above it the one that stays drops as much.
    """

    like: Project
    columns: tuple[str, ...]
    origin: tuple[str, ...]
    spare: bool = False
    idle: bool = False


@dataclass
class _Push:
    graph: OperatorGraph
    through_top: bool
    operators: list[Operator] = field(default_factory=list)
    staying: set[str] = field(default_factory=set)
    projection_ids: list[str] = field(default_factory=list)

    def visit(self, name: str, pending: _Pending | None, filters: list[Operator], below_join: bool) -> str:
        """Builds what `name` gives with `filters` (topmost first) and `pending` above it; its new name."""
        op = self.graph.operators.get(name)
        alone = bool(self.graph.only_reader(name)) or name == self.graph.query.operators[-1].id
        if op is None or not alone:
            return self.above(self.written(name), pending, filters)
        if isinstance(op, Filter) and op.movable:
            return self.visit(op.inputs[0], pending, [*filters, op], below_join)
        if is_plain(op):
            columns = tuple(i.name for i in op.items)
            origin = op.origin or (op.id,)
            if pending is None:
                pending = _Pending(op, columns, origin)
            else:
                pending = replace(pending, origin=tuple(sorted({*pending.origin, *origin})))
            return self.visit(op.inputs[0], pending, filters, below_join)
        if isinstance(op, Join) and op.movable:
            return self.join(op, pending, filters, below_join)
        return self.above(self.written(name), pending, filters)

    def written(self, name: str) -> str:
        """A source, or an operator that stays where it is with what is below it, made once."""
        op = self.graph.operators.get(name)
        if op is None:
            return name
        if name not in self.staying:
            pending = None
            if isinstance(op, Project) and op.columns:
                self.projection_ids.append(op.id)
                pending = _Pending(op, op.columns, op.origin or (op.id,), spare=True, idle=True)
            inputs = tuple(self.visit(i, pending, [], below_join=False) for i in op.inputs)
            self.operators.append(op.reading(*inputs))
            self.staying.add(name)
        return name

    def above(self, name: str, pending: _Pending | None, filters: list[Operator]) -> str:
        """Selections on `name`, the lowest first, then the projection."""
        for op in reversed(filters):
            self.operators.append(op.reading(name))
            name = op.id
        if pending is None or pending.idle:
            return name
        like = pending.like
        used = like.id in self.projection_ids
        identifier = self.graph.fresh_id("p", self.projection_ids) if used else like.id
        self.projection_ids.append(identifier)
        items = tuple(Item(c, c) for c in pending.columns)
        origin = pending.origin if used or len(pending.origin) > 1 or like.origin else ()
        self.operators.append(
            replace(
                like,
                id=identifier,
                inputs=(name,),
                items=items,
                columns=pending.columns,
                cost=narrow_cost(like),
                origin=origin,
            )
        )
        return identifier

    def join(self, op: Operator, pending: _Pending | None, filters: list[Operator], below_join: bool) -> str:
        """Selections go to the side that has their columns; the projection goes to both."""
        sides: tuple[list[Operator], list[Operator]] = [], []
        staying: list[Operator] = []
        for selection in filters:
            needed = {c.partition(".")[0] for c in selection.columns}
            side = next((k for k, i in enumerate(op.inputs) if needed <= self.graph.aliases[i]), None)
            (staying if side is None else sides[side]).append(selection)
        columns = [self.graph.columns[i] for i in op.inputs]
        push = pending is not None and (below_join or self.through_top) and None not in columns
        if push and pending is not None:
            above = {c for selection in staying for c in selection.columns}
            if pending.idle:
                pending = replace(pending, columns=(*pending.columns, *sorted(above - set(pending.columns))))
            push = above <= set(pending.columns)
        below: list[_Pending | None] = [None, None]
        upper = pending
        if push and pending is not None:
            times = {self.graph.event_time(alias) for alias in self.graph.aliases[op.id]}
            needed = {*pending.columns, *op.columns, *times}
            remaining: set[str] = set()
            for k, have in enumerate(columns):
                keep = tuple(c for c in have or () if c in needed)
                remaining.update(keep)
                if len(keep) < len(have or ()):
                    below[k] = replace(pending, columns=keep, idle=False)
            if remaining == set(pending.columns) and (
                pending.spare or self.graph.readers.get(pending.like.id)
            ):
                upper = None
        inputs = tuple(self.visit(i, below[k], sides[k], below_join=True) for k, i in enumerate(op.inputs))
        self.operators.append(op.reading(*inputs))
        return self.above(op.id, upper, staying)


def pushed(query: Query, streams: Mapping[str, Stream], through_top: bool = True) -> Query:
    """The query with its plain projections pushed down and merged, and with what other projections do not
    read dropped below joins; the query itself if it has none above a join or another projection. Without
    `through_top` those above every join stay there.

    The rows are the same. Operators that merge or are made say `from` which they come.
    """
    if query.fixed_order or not any(isinstance(op, Project) for op in query.operators):
        return query
    push = _Push(OperatorGraph(query, streams), through_top)
    push.visit(query.operators[-1].id, None, [], below_join=False)
    if {op.id: op for op in push.operators} == {op.id: op for op in query.operators}:
        return query
    return replace(query, operators=tuple(push.operators))
