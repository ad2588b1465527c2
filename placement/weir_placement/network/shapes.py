"""Queries of equal shape: the same operators over streams alike, under other names.

Their plan spaces differ only in names and rates, so that one is built and the others are filled in. A
shape writes the n-th source alias as `__a<n>__` and the n-th operator as `__o<n>__`; what is made from
it has these names and gets a query's own when an operator of a plan is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

from weir_placement.model.operators import Item, Operator, Window
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.network.signatures import ALIAS
from weir_placement.network.space_builder import Draft, build

_MARK = "__"
_ITEMS, _WINDOWS = (
    next(n for n, field in enumerate(fields(Operator)) if field.name == name) for name in ("items", "windows")
)
_MARKED = re.compile(r"__([ao])(\d+)__")


class Shape(NamedTuple):
    """What queries have in common: columns and event time of each source, fields of each operator."""

    sources: tuple[tuple[tuple[Column, ...], float, str], ...]
    operators: tuple[tuple[Any, ...], ...]
    fixed_order: bool


def shape_of(problem: Problem, query: Query) -> Shape | None:
    """A query's shape; None for one whose texts hold what marks a name here."""
    aliases = {a: f"{_MARK}a{n}{_MARK}" for n, a in enumerate(query.sources)}
    names = {op.id: f"{_MARK}o{n}{_MARK}" for n, op in enumerate(query.operators)} | aliases
    streams = [problem.streams[name] for name in query.sources.values()]
    try:
        operators = tuple([_fields(op, names, aliases) for op in query.operators])
    except _MarkedError:
        return None
    sources = tuple([(s.columns, s.tuple_bytes, s.event_time) for s in streams])
    return Shape(sources, operators, query.fixed_order)


class _MarkedError(Exception):
    """A text of a query looks like a name of a shape."""


def _fields(op: Operator, names: Mapping[str, str], aliases: Mapping[str, str]) -> tuple[Any, ...]:
    """An operator's fields in their order, its names replaced; parts as plain tuples."""

    def written(text: str) -> str:
        if _MARK in text:
            raise _MarkedError
        return ALIAS.sub(lambda m: f"{aliases.get(m[1], m[1])}." if m[1] else m[0], text)

    return (
        names[op.id],
        op.kind,
        tuple([names[i] for i in op.inputs]),
        tuple([written(c) for c in op.columns]),
        written(op.predicate) if op.predicate else "",
        tuple([(written(i.name), written(i.expression)) for i in op.items]),
        written(op.on) if op.on else "",
        tuple([(aliases[w.left], aliases[w.right], w.lower, w.upper) for w in op.windows]),
        op.time,
        op.window,
        op.slide,
        (),  # aggregations: a shape has none
        op.groups,
        op.selectivity,
        op.cost,
        op.cost_pair,
        op.cost_out,
        op.memory,
        op.row_overhead,
        op.delay,
        op.nodes,
        tuple([names.get(o, o) for o in op.origin]),
    )


@lru_cache(maxsize=4096)
def shared_draft(shape: Shape) -> Draft:
    """The draft of a shape, its sources at 1 tuple/s."""
    aliases = [f"{_MARK}a{n}{_MARK}" for n in range(len(shape.sources))]
    streams = {
        alias: Stream(alias, 1.0, columns, (), width, event_time)
        for alias, (columns, width, event_time) in zip(aliases, shape.sources, strict=True)
    }
    operators = []
    for values in shape.operators:
        op = Operator(*values)
        items = tuple(Item(*item) for item in values[_ITEMS])
        windows = tuple(Window(*window) for window in values[_WINDOWS])
        operators.append(replace(op, items=items, windows=windows))
    query = Query("", {a: a for a in aliases}, tuple(operators), fixed_order=shape.fixed_order)
    return build(query, streams, [[1.0]] * len(aliases))


def own_names(query: Query) -> Callable[[Operator], Operator]:
    """What gives an operator of a query's shape the query's own names."""

    def own(op: Operator) -> Operator:
        known = {"a": tuple(query.sources), "o": tuple(o.id for o in query.operators)}

        def name(text: str) -> str:
            return _MARKED.sub(lambda m: known[m[1]][int(m[2])], text)

        return replace(
            op,
            id=name(op.id),
            inputs=tuple(map(name, op.inputs)),
            columns=tuple(map(name, op.columns)),
            predicate=name(op.predicate),
            items=tuple(Item(name(i.name), name(i.expression)) for i in op.items),
            on=name(op.on),
            windows=tuple(Window(name(w.left), name(w.right), w.lower, w.upper) for w in op.windows),
            origin=tuple(map(name, op.origin)),
        )

    return own
