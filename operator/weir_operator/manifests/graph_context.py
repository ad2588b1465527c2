"""What an operator of an explicit graph is read with: inputs, the streams behind them, where errors go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import parse_predicate
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.rewrite import estimates

from weir_operator.api.query import OperatorSpec


@dataclass(frozen=True)
class OperatorOutput:
    """The output of an operator.

    Attributes:
        columns: with their types.
        aliases: of the streams behind it.
        times: columns that are event times.
        joinable: whether its rows have the event times of their streams, to which windows of joins apply.
            Rows of an aggregate or a union do not.
    """

    columns: Mapping[str, str]
    aliases: tuple[str, ...]
    times: frozenset[str]
    joinable: bool = True


def of_stream(alias: str, stream: Stream) -> OperatorOutput:
    """The output of a stream. Without an event time it can be planned, not run: any TIMESTAMP will do."""
    columns = {f"{alias}.{c.name}": c.type for c in stream.columns}
    times = {f"{alias}.{stream.event_time}"} if stream.event_time else columns
    return OperatorOutput(columns, (alias,), frozenset(n for n in times if columns.get(n) == "TIMESTAMP"))


class Common(TypedDict):
    """Fields that a manifest gives for every kind."""

    cost: float
    memory: float
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class OperatorContext:
    """An operator of a manifest: `names` of its inputs in the model, their outputs, the streams of the query
    by alias. `refuse` reports a finding: field, what is wrong, what would be right. `runs`: all streams have
    a source, so that state costs as much as in Spark; a query that is only planned has the papers' zeros."""

    spec: OperatorSpec
    names: tuple[str, ...]
    inputs: tuple[OperatorOutput, ...]
    streams: Mapping[str, Stream]
    refuse: Callable[[str, str, str], None]
    refuse_expression: Callable[[str, ExpressionError], None]
    runs: bool = False

    def delay(self) -> float:
        """Watermark delay that keeps rows longer [s]."""
        aliases = {alias for output in self.inputs for alias in output.aliases}
        return max((self.streams[alias].delay for alias in aliases if self.runs), default=0.0)

    def common(self) -> Common:
        """Costs as declared or by kind, and where it may run."""
        spec = self.spec
        cost = getattr(estimates.CostDefaults(), spec.kind) if spec.cost is None else spec.cost
        memory = spec.memory
        if spec.kind == "aggregate" and self.runs:
            memory = memory or estimates.CostDefaults().group_bytes
        return {"cost": cost, "memory": memory, "nodes": tuple(spec.nodes)}

    def has(self, names: Sequence[str], columns: Mapping[str, str], field: str) -> bool:
        """Whether all names are columns; refuses the others."""
        missing = [(i, name) for i, name in enumerate(names) if name not in columns]
        for i, name in missing:
            self.refuse(f"{field}[{i}]", f"no column {name}", suggestion(name, columns, "columns"))
        return not missing

    def condition(self, text: str, columns: Mapping[str, str], field: str) -> str | None:
        """A condition in canonical form; None when it is refused."""
        try:
            return parse_predicate(text, columns).text
        except ExpressionError as error:
            self.refuse_expression(field, error)
            return None

    def distinct(self) -> dict[str, float]:
        """Distinct values by qualified column, where streams declare them."""
        return {f"{a}.{c}": n for a, stream in self.streams.items() for c, n in stream.distinct.items()}

    def only_time(self) -> str | None:
        """The event-time column of an input that comes from one stream; refuses any other."""
        (source,) = self.inputs
        times = [f"{a}.{self.streams[a].event_time}" for a in source.aliases if self.streams[a].event_time]
        if len(times) == 1 and len(source.aliases) == 1:
            return times[0]
        choices = f"name the time column: {', '.join(times)}"
        self.refuse("time", "is missing", choices if times else "give the stream an eventTime, and name it")
        return None
