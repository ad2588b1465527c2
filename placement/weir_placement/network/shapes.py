"""Queries of equal shape: the same operators over streams alike, under other names.

Their plan spaces differ only in names and rates, so that one is built and the others are filled in. A
shape writes the n-th source alias as `__a<n>__` and the n-th operator as `__o<n>__`; what is made from
it has these names and gets a query's own when an operator of a plan is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from weir_placement.model.operators import Operator
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.network.signatures import ALIAS
from weir_placement.network.space_builder import Draft, build

_MARK = "__"
_MARKED = re.compile(r"__([ao])(\d+)__")


class Shape(NamedTuple):
    """What queries have in common: columns, width, event time and distinct values of each source, operators
    over names of a shape."""

    sources: tuple[tuple[tuple[Column, ...], float, str, tuple[tuple[str, float], ...]], ...]
    operators: tuple[Operator, ...]
    fixed_order: bool


def shape_of(problem: Problem, query: Query) -> Shape | None:
    """A query's shape; None for one whose texts hold what marks a name here."""
    names = {op.id: f"{_MARK}o{n}{_MARK}" for n, op in enumerate(query.operators)}
    names.update({a: f"{_MARK}a{n}{_MARK}" for n, a in enumerate(query.sources)})
    aliases = query.sources

    def name(text: str) -> str:
        return names.get(text, text)

    def qualified(match: re.Match[str]) -> str:
        if not match[1]:
            return match[0]
        return f"{names[match[1]] if match[1] in aliases else match[1]}."

    def text(written: str) -> str:
        if _MARK in written:
            raise _MarkedError
        return ALIAS.sub(qualified, written)

    streams = [problem.streams[name] for name in query.sources.values()]
    try:
        operators = tuple([op.renamed(name, text) for op in query.operators])
    except _MarkedError:
        return None
    sources = tuple(
        [(s.columns, s.tuple_bytes, s.event_time, tuple(sorted(s.distinct.items()))) for s in streams]
    )
    return Shape(sources, operators, query.fixed_order)


class _MarkedError(Exception):
    """A text of a query looks like a name of a shape."""


@lru_cache(maxsize=4096)
def shared_draft(shape: Shape) -> Draft:
    """The draft of a shape, its sources at 1 tuple/s."""
    aliases = [f"{_MARK}a{n}{_MARK}" for n in range(len(shape.sources))]
    streams = {
        alias: Stream(alias, 1.0, columns, (), width, event_time, distinct=dict(distinct))
        for alias, (columns, width, event_time, distinct) in zip(aliases, shape.sources, strict=True)
    }
    query = Query("", {a: a for a in aliases}, shape.operators, fixed_order=shape.fixed_order)
    return build(query, streams, [[1.0]] * len(aliases))


def own_names(query: Query) -> Callable[[Operator], Operator]:
    """What gives an operator of a query's shape the query's own names."""

    def own(op: Operator) -> Operator:
        names = {"a": tuple(query.sources), "o": tuple(o.id for o in query.operators)}

        def name(text: str) -> str:
            return _MARKED.sub(lambda m: names[m[1]][int(m[2])], text)

        return op.renamed(name, name)

    return own
