"""One operator of an explicit graph, by kind: its checks, and what it becomes in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypedDict

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import (
    aggregation_type,
    columns_of,
    conjuncts,
    parse_expression,
    parse_predicate,
)
from weir_placement.model.operators import (
    Aggregate,
    Aggregation,
    Filter,
    Item,
    Join,
    Operator,
    Project,
    Union,
    Window,
)
from weir_placement.model.streams import Stream
from weir_placement.model.suggestion import suggestion
from weir_placement.model.types import is_hidden
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


WINDOW = {"window.start": "TIMESTAMP", "window.end": "TIMESTAMP"}

Built = tuple[tuple[Operator, ...], OperatorOutput]
"""The operator, preceded by those that it needs before it, and its output."""


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


def _filter(context: OperatorContext) -> Built | None:
    spec, (source,) = context.spec, context.inputs
    context.has(spec.columns or (), source.columns, "columns")
    predicate = context.condition(spec.predicate or "", source.columns, "predicate")
    if predicate is None:
        return None
    selectivity = spec.selectivity
    if selectivity is None:
        selectivity = estimates.filter_selectivity(predicate, context.distinct())
    columns = tuple(spec.columns or columns_of(predicate))
    operator = Filter(spec.id, context.names, columns, predicate, selectivity=selectivity, **context.common())
    return (operator,), source


def _project(context: OperatorContext) -> Built | None:
    spec, (source,) = context.spec, context.inputs
    columns = tuple(spec.columns or ())
    if not context.has(columns, source.columns, "columns"):
        return None
    items = tuple(Item(name, name) for name in columns)
    operator = Project(spec.id, context.names, columns, items, **context.common())
    types = {name: source.columns[name] for name in columns}
    return (operator,), replace(source, columns=types, times=source.times & types.keys())


def _join(context: OperatorContext) -> Built | None:
    spec, (left, right) = context.spec, context.inputs
    both_sides = sorted(set(left.aliases) & set(right.aliases))
    if both_sides:
        context.refuse("inputs", f"stream {both_sides[0]} is on both sides", "write a self join as SQL")
        return None
    for i, output in enumerate(context.inputs):
        if not output.joinable:
            wrong = (
                f"{context.spec.inputs[i]} comes from an aggregate or a union, whose rows have no event time"
            )
            advice = "join the streams first, then aggregate the result or form its union"
            context.refuse(f"inputs[{i}]", wrong, advice)
            return None
    both = {**left.columns, **right.columns}
    on = context.condition(spec.on, both, "on") if spec.on else ""
    if on is None or spec.window is None:
        return None
    selectivity = spec.selectivity
    if selectivity is None:
        selectivity = prod(
            estimates.condition_selectivity(part.text, context.distinct()) for part in conjuncts(on)
        )
    width = round(spec.window * 1e6)
    operator = Join(
        spec.id,
        context.names,
        columns_of(on),
        on,
        tuple(Window(a, b, -width, width) for a, b in _pairs(on, left.aliases, right.aliases)),
        selectivity=selectivity,
        delay=context.delay(),
        row_overhead=estimates.CostDefaults().row_overhead if context.runs else 0.0,
        cost_pair=spec.cost_pair,
        cost_out=spec.cost_out,
        **context.common(),
    )
    return (operator,), OperatorOutput(both, (*left.aliases, *right.aliases), left.times | right.times)


def _pairs(on: str, left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of streams that a conjunct of `on` connects; every pair when none does."""
    pairs: dict[tuple[str, str], None] = {}
    for part in conjuncts(on):
        aliases = {column.split(".", 1)[0] for column in part.columns}
        pairs.update({(a, b): None for a in left if a in aliases for b in right if b in aliases})
    return list(pairs) or [(a, b) for a in left for b in right]


def _aggregate(context: OperatorContext) -> Built | None:
    spec, (source,) = context.spec, context.inputs
    keys = tuple(spec.group_by or ())
    time = spec.time or context.only_time()
    if not context.has(keys, source.columns, "groupBy") or time is None:
        return None
    if time not in source.columns:
        context.refuse("time", f"no column {time}", suggestion(time, source.columns, "columns"))
        return None
    if time not in source.times:
        times = ", ".join(sorted(source.times))
        right = f"name an event time: {times}" if times else "keep the stream's event time in the projection"
        context.refuse("time", f"{time} is not an event time here", right)
        return None
    if not _window_fits(context):
        return None
    aggregations = _aggregations(context)
    if aggregations is None or not _distinct_names(context, keys):
        return None
    columns = {name: source.columns[name] for name in keys} | WINDOW | {a.name: k for a, k in aggregations}
    inputs = {time, *keys, *(c for a, _ in aggregations for c in columns_of(a.expression or ""))}
    groups = spec.groups
    if groups is None:
        groups = prod((estimates.distinct_values(name, context.distinct()) for name in keys), start=1.0)
    operator = Aggregate(
        spec.id,
        context.names,
        tuple(sorted(inputs)),
        items=tuple(Item(name, name) for name in keys),
        time=time,
        window=spec.window or 0.0,
        slide=spec.slide or spec.window or 0.0,
        aggregations=tuple(a for a, _ in aggregations),
        groups=groups,
        delay=context.delay(),
        **context.common(),
    )
    return (operator,), OperatorOutput(columns, source.aliases, frozenset(WINDOW), joinable=False)


def _window_fits(context: OperatorContext) -> bool:
    """Whether windows have a length, and each row is in one; refuses others."""
    window, slide = context.spec.window or 0.0, context.spec.slide
    if window <= 0:
        context.refuse("window", "0s is no length", "write a duration above 0, such as 1m")
    elif slide is not None and slide <= 0:
        context.refuse("slide", "0s is no length", "write a duration above 0, or leave it out")
    elif slide is not None and slide > window:
        context.refuse("slide", "is longer than the window: rows between windows would be lost", "shorten it")
    else:
        return True
    return False


def _distinct_names(context: OperatorContext, keys: Sequence[str]) -> bool:
    """Whether the columns of an aggregate have different names, ignoring case; refuses the first that does
    not."""
    names = {name.lower() for name in WINDOW}
    fields = [(f"groupBy[{i}]", key) for i, key in enumerate(keys)]
    fields += [(f"aggregates[{i}].name", a.name) for i, a in enumerate(context.spec.aggregates or ())]
    for field, name in fields:
        if name.lower() in names or is_hidden(name):
            wrong = f"{name} is already the name of another column of the result"
            wrong = f"{name} is a name that the runtime reserves" if is_hidden(name) else wrong
            context.refuse(field, wrong, "choose another name" if "name" in field else "leave it out")
            return False
        names.add(name.lower())
    return True


def _aggregations(context: OperatorContext) -> list[tuple[Aggregation, str]] | None:
    """Each with the type of its result; None when one is refused."""
    (source,) = context.inputs
    aggregations = []
    for i, aggregate in enumerate(context.spec.aggregates or ()):
        field = f"aggregates[{i}].expression"
        try:
            text = (
                parse_expression(aggregate.expression, source.columns).text if aggregate.expression else None
            )
            if text is None and aggregate.function != "count":
                context.refuse(field, "is missing", "give one; only count needs none")
                return None
            aggregation = Aggregation(aggregate.name, aggregate.function, text)
            aggregations.append((aggregation, aggregation_type(aggregation, source.columns)))
        except ExpressionError as error:
            context.refuse_expression(field, error)
            return None
    return aggregations


def _short(column: str) -> str:
    return column.rsplit(".", 1)[-1]


def _union(context: OperatorContext) -> Built | None:
    """Branches are first projected to the same names: columns lose their streams' names."""
    spec, inputs = context.spec, context.inputs
    plain = [{_short(name): kind for name, kind in output.columns.items()} for output in inputs]
    branches = []
    for i, (name, output) in enumerate(zip(context.names, inputs, strict=True)):
        if len(plain[i]) < len(output.columns) or list(plain[i].items()) != list(plain[0].items()):
            wrong = f"{name} has columns {', '.join(f'{n} {k}' for n, k in plain[i].items())}"
            right = "every branch needs " + ", ".join(f"{n} {k}" for n, k in plain[0].items())
            context.refuse(f"inputs[{i}]", wrong, right)
            return None
        items = tuple(Item(_short(column), column) for column in output.columns)
        columns = tuple(output.columns)
        branches.append(Project(f"{spec.id}-{i + 1}", (name,), columns, items, nodes=tuple(spec.nodes)))
    hidden = [name for name in plain[0] if is_hidden(name)]
    if hidden:
        context.refuse(
            "inputs", f"{hidden[0]} is a name that the runtime reserves", "project the other columns"
        )
        return None
    aliases = tuple(dict.fromkeys(alias for output in inputs for alias in output.aliases))
    times = frozenset.intersection(*(frozenset(map(_short, output.times)) for output in inputs))
    names = tuple(branch.id for branch in branches)
    operator = Union(spec.id, names, tuple(plain[0]), **context.common())
    return (*branches, operator), OperatorOutput(plain[0], aliases, times, joinable=False)


BUILD: Mapping[str, Callable[[OperatorContext], Built | None]] = {
    "filter": _filter,
    "project": _project,
    "join": _join,
    "aggregate": _aggregate,
    "union": _union,
}
"""By kind; None when something was refused."""
