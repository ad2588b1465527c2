"""What leaves each operator: qualified columns with types and bytes, event times, watermark delay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir_placement.model import types
from weir_placement.model.expressions import aggregation_type, item_type
from weir_placement.model.operators import Operator
from weir_placement.model.problem import Query
from weir_placement.model.streams import Column, Stream


@dataclass(frozen=True)
class OutputStream:
    """The stream that leaves a source or an operator.

    Attributes:
        columns: in order, under their qualified names (`d.carrier`), as items and aggregations call
            them, or `window.start` and `window.end`.
        times: those columns that are event times.
        delay: watermark delay [s]: filter, projection, union and aggregate have the largest of their
            inputs', a join the largest plus its windows' reach (runtime.md).
    """

    columns: tuple[Column, ...]
    times: frozenset[str]
    delay: float

    @property
    def types(self) -> dict[str, str]:
        """Type by column."""
        return {c.name: c.type for c in self.columns}

    @property
    def bytes(self) -> float:
        """[bytes] of a tuple."""
        return sum(c.bytes for c in self.columns)


def source_output(alias: str, stream: Stream) -> OutputStream:
    """A stream under its alias; columns are scaled so that they add up to `tuple_bytes`, if given."""
    declared = sum(c.bytes for c in stream.columns)
    factor = stream.tuple_bytes / declared if declared and stream.tuple_bytes else 1.0
    columns = tuple(Column(f"{alias}.{c.name}", c.type, c.bytes * factor) for c in stream.columns)
    times = frozenset([f"{alias}.{stream.event_time}"] if stream.event_time else [])
    return OutputStream(columns, times, stream.delay)


def outputs(query: Query, streams: Mapping[str, Stream]) -> dict[str, OutputStream]:
    """The output of every source alias and every operator of a query, by alias or id.

    Raises:
        ValueError: a union of unlike inputs.
        ExpressionError: an item that does not go with its columns' types.
    """
    found = {alias: source_output(alias, streams[name]) for alias, name in query.sources.items()}
    for operator in query.operators:
        found[operator.id] = operator_output(operator, [found[name] for name in operator.inputs])
    return found


def operator_output(operator: Operator, inputs: list[OutputStream]) -> OutputStream:
    """The output of one operator over its inputs' outputs."""
    delay = max(i.delay for i in inputs)
    first = inputs[0]
    if operator.kind == "filter":
        return first
    if operator.kind == "join":
        columns = tuple(c for i in inputs for c in i.columns)
        reach = max((w.reach for w in operator.windows), default=0.0)
        return OutputStream(columns, frozenset().union(*(i.times for i in inputs)), delay + reach)
    if operator.kind == "union":
        for other in inputs[1:]:
            if other.types != first.types:
                raise ValueError(f"{operator.id}: the inputs of a union have unlike columns")
        return OutputStream(first.columns, frozenset.intersection(*(i.times for i in inputs)), delay)
    known = {c.name: c for c in first.columns}
    if operator.kind == "project":
        columns = tuple(_made(i.name, i.expression, item_type(i, first.types), known) for i in operator.items)
        times = {i.name for i in operator.items if i.expression in first.times}
        return OutputStream(columns, frozenset(times), delay)
    keys = [_made(i.name, i.expression, item_type(i, first.types), known) for i in operator.items]
    sums = [(a.name, aggregation_type(a, first.types)) for a in operator.aggregations]
    window = [Column(name, "TIMESTAMP", 8.0) for name in ("window.start", "window.end")]
    made = [Column(name, kind, types.type_bytes(kind)) for name, kind in sums]
    return OutputStream((*window, *keys, *made), frozenset(["window.end"]), delay)


def _made(name: str, expression: str, kind: str, known: Mapping[str, Column]) -> Column:
    """An item's column; one that is only renamed keeps its estimated size."""
    size = known[expression].bytes if expression in known else types.type_bytes(kind)
    return Column(name, kind, size)
