"""A query as a graph that rewrites itself: readers, columns, replacing operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from weir_placement.model.operators import Operator, is_plain
from weir_placement.model.problem import Query
from weir_placement.model.streams import Stream


@dataclass(frozen=True)
class OperatorGraph:
    """One logical plan. `streams` by full name tell which columns a source has; a source that is not
    among them has unknown columns, and nothing is projected away from it."""

    query: Query
    streams: Mapping[str, Stream]

    @cached_property
    def operators(self) -> dict[str, Operator]:
        """Operators by id, in topological order."""
        return {o.id: o for o in self.query.operators}

    @cached_property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """Ids of the operators that read each source or operator."""
        readers: dict[str, list[str]] = {}
        for operator in self.query.operators:
            for name in operator.inputs:
                readers.setdefault(name, []).append(operator.id)
        return {name: tuple(ids) for name, ids in readers.items()}

    @cached_property
    def aliases(self) -> dict[str, frozenset[str]]:
        """Source aliases under each source or operator."""
        aliases = {alias: frozenset([alias]) for alias in self.query.sources}
        for operator in self.query.operators:
            aliases[operator.id] = frozenset().union(*(aliases[i] for i in operator.inputs))
        return aliases

    @cached_property
    def columns(self) -> dict[str, tuple[str, ...] | None]:
        """Qualified columns of each source or operator, in order; None when they are not known."""
        columns: dict[str, tuple[str, ...] | None] = {}
        for alias, name in self.query.sources.items():
            stream = self.streams.get(name)
            declared = stream.columns if stream else ()
            columns[alias] = tuple(f"{alias}.{c.name}" for c in declared) or None
        for operator in self.query.operators:
            columns[operator.id] = operator.output([columns[i] for i in operator.inputs])
        return columns

    def event_time(self, alias: str) -> str:
        """The qualified event-time column of a source; "" when it is not known."""
        stream = self.streams.get(self.query.sources[alias])
        return f"{alias}.{stream.event_time}" if stream and stream.event_time else ""

    def only_reader(self, name: str) -> str:
        """The one operator that reads `name` and reads it once; "" when there are more or none."""
        readers = self.readers.get(name, ())
        return readers[0] if len(readers) == 1 else ""

    def fresh_id(self, like: str, reserved: Iterable[str] = ()) -> str:
        """An id that is not in use: the letters of `like` and the next free number."""
        used = {*self.operators, *self.query.sources, *reserved}
        stem = re.sub(r"\d+$", "", like) or "o"
        number = 1
        while f"{stem}{number}" in used:
            number += 1
        return f"{stem}{number}"

    def idle(self, op: Operator) -> bool:
        """Whether it is a plain projection that drops nothing of another operator's columns."""
        (name, *_) = op.inputs
        columns = self.columns[name]
        return (
            is_plain(op)
            and name in self.operators
            and columns is not None
            and set(columns) == set(op.new_columns)
        )

    def replaced(
        self, removed: Iterable[str], added: Iterable[Operator], moved: Mapping[str, str]
    ) -> OperatorGraph:
        """The graph with operators taken out and put in; those that stay and read a key of `moved` read
        what it maps to.

        Operators come out in topological order, ties broken as they were written.
        """
        out = set(removed)
        staying = [
            o.reading(*(moved.get(i, i) for i in o.inputs)) for o in self.query.operators if o.id not in out
        ]
        last = self.query.operators[-1].id
        sink = moved.get(last, last)
        ordered = _topological([*staying, *added], self.query.sources, sink)
        return OperatorGraph(replace(self.query, operators=ordered), self.streams)


def _topological(operators: list[Operator], sources: Iterable[str], sink: str) -> tuple[Operator, ...]:
    by_id = {o.id: o for o in operators}
    visited, ordered = set(sources), list[Operator]()

    def visit(identifier: str) -> None:
        if identifier in visited:
            return
        visited.add(identifier)
        for name in by_id[identifier].inputs:
            visit(name)
        ordered.append(by_id[identifier])

    for operator in operators:
        if operator.id != sink:
            visit(operator.id)
    visit(sink)
    return tuple(ordered)
