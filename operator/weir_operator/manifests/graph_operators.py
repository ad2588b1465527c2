"""One operator of an explicit graph, by kind: what is checked of it, and what it becomes in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypedDict

from weir_placement.model.expressions import (
    ExpressionError,
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
from weir_placement.model.types import is_hidden
from weir_placement.rewrite import estimates

from weir_operator.api.query import OperatorSpec
from weir_operator.manifests.finding import suggestion


@dataclass(frozen=True)
class OperatorOutput:
    """What an operator gives.

    Attributes:
        columns: with their types.
        aliases: of the streams behind it.
        times: columns that are event times.
        joinable: whether its rows have the times of their streams, to which windows of joins belong. Those of
            an aggregate or a union do not.
    """

    columns: Mapping[str, str]
    aliases: tuple[str, ...]
    times: frozenset[str]
    joinable: bool = True


def of_stream(alias: str, stream: Stream) -> OperatorOutput:
    """What a stream gives. One without an event time can be planned, not run: any of its times may serve."""
    columns = {f"{alias}.{c.name}": c.type for c in stream.columns}
    times = {f"{alias}.{stream.event_time}"} if stream.event_time else columns
    return OperatorOutput(columns, (alias,), frozenset(n for n in times if columns.get(n) == "TIMESTAMP"))


WINDOW = {"window.start": "TIMESTAMP", "window.end": "TIMESTAMP"}

Built = tuple[tuple[Operator, ...], OperatorOutput]
"""The operator, after those that it needs before it, and what it gives."""


class Common(TypedDict):
    """Fields of every kind that a manifest gives."""

    cost: float
    memory: float
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class WrittenOperator:
    """An operator as it is written: `names` of its inputs in the model, what these give, the streams of the
    query by alias. `refuse` reports a finding: field, what is wrong, what would be right. `runs`: all streams
    have a source, so that rows are kept as Spark keeps them; what is only planned has the papers' zeros."""

    spec: OperatorSpec
    names: tuple[str, ...]
    inputs: tuple[OperatorOutput, ...]
    streams: Mapping[str, Stream]
    refuse: Callable[[str, str, str], None]
    runs: bool = False

    def delay(self) -> float:
        """Watermark delay that keeps rows longer [s]."""
        aliases = {alias for output in self.inputs for alias in output.aliases}
        return max((self.streams[alias].delay for alias in aliases if self.runs), default=0.0)

    def common(self) -> Common:
        """Costs as written or by kind, and where it may run."""
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
            self.refuse(field, str(error), "")
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
        choice = ", ".join(times) or "no stream has one"
        self.refuse("time", "is missing", f"name the time column: {choice}")
        return None


def _filter(written: WrittenOperator) -> Built | None:
    spec, (source,) = written.spec, written.inputs
    written.has(spec.columns or (), source.columns, "columns")
    predicate = written.condition(spec.predicate or "", source.columns, "predicate")
    if predicate is None:
        return None
    selectivity = spec.selectivity
    if selectivity is None:
        selectivity = estimates.filter_selectivity(predicate, written.distinct())
    columns = tuple(spec.columns or columns_of(predicate))
    operator = Filter(spec.id, written.names, columns, predicate, selectivity=selectivity, **written.common())
    return (operator,), source


def _project(written: WrittenOperator) -> Built | None:
    spec, (source,) = written.spec, written.inputs
    columns = tuple(spec.columns or ())
    if not written.has(columns, source.columns, "columns"):
        return None
    items = tuple(Item(name, name) for name in columns)
    operator = Project(spec.id, written.names, columns, items, **written.common())
    types = {name: source.columns[name] for name in columns}
    return (operator,), replace(source, columns=types, times=source.times & types.keys())


def _join(written: WrittenOperator) -> Built | None:
    spec, (left, right) = written.spec, written.inputs
    twice = sorted(set(left.aliases) & set(right.aliases))
    if twice:
        written.refuse("inputs", f"stream {twice[0]} is on both sides", "a self join is written as SQL")
        return None
    for i, output in enumerate(written.inputs):
        if not output.joinable:
            wrong = f"{written.spec.inputs[i]} comes from an aggregate or a union: it has no stream's time"
            written.refuse(
                f"inputs[{i}]", wrong, "join the streams first, and aggregate or unite what leaves"
            )
            return None
    both = {**left.columns, **right.columns}
    on = written.condition(spec.on, both, "on") if spec.on else ""
    if on is None or spec.window is None:
        return None
    selectivity = spec.selectivity
    if selectivity is None:
        selectivity = prod(
            estimates.condition_selectivity(part.text, written.distinct()) for part in conjuncts(on)
        )
    width = round(spec.window * 1e6)
    operator = Join(
        spec.id,
        written.names,
        columns_of(on),
        on,
        tuple(Window(a, b, -width, width) for a, b in _pairs(on, left.aliases, right.aliases)),
        selectivity=selectivity,
        delay=written.delay(),
        row_overhead=estimates.CostDefaults().row_overhead if written.runs else 0.0,
        cost_pair=spec.cost_pair,
        cost_out=spec.cost_out,
        **written.common(),
    )
    return (operator,), OperatorOutput(both, (*left.aliases, *right.aliases), left.times | right.times)


def _pairs(on: str, left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of streams that a conjunct of `on` connects; every pair when none does."""
    pairs: dict[tuple[str, str], None] = {}
    for part in conjuncts(on):
        aliases = {column.split(".", 1)[0] for column in part.columns}
        pairs.update({(a, b): None for a in left if a in aliases for b in right if b in aliases})
    return list(pairs) or [(a, b) for a in left for b in right]


def _aggregate(written: WrittenOperator) -> Built | None:
    spec, (source,) = written.spec, written.inputs
    keys = tuple(spec.group_by or ())
    time = spec.time or written.only_time()
    if not written.has(keys, source.columns, "groupBy") or time is None:
        return None
    if time not in source.columns:
        written.refuse("time", f"no column {time}", suggestion(time, source.columns, "columns"))
        return None
    if time not in source.times:
        choice = ", ".join(sorted(source.times)) or "project a stream's event time"
        written.refuse("time", f"{time} is no event time here", f"name one: {choice}")
        return None
    aggregations = _aggregations(written)
    if aggregations is None or not _distinct_names(written, keys):
        return None
    columns = {name: source.columns[name] for name in keys} | WINDOW | {a.name: k for a, k in aggregations}
    read = {time, *keys, *(c for a, _ in aggregations for c in columns_of(a.expression or ""))}
    groups = spec.groups
    if groups is None:
        groups = prod((estimates.distinct_values(name, written.distinct()) for name in keys), start=1.0)
    operator = Aggregate(
        spec.id,
        written.names,
        tuple(sorted(read)),
        items=tuple(Item(name, name) for name in keys),
        time=time,
        window=spec.window or 0.0,
        slide=spec.slide or spec.window or 0.0,
        aggregations=tuple(a for a, _ in aggregations),
        groups=groups,
        delay=written.delay(),
        **written.common(),
    )
    return (operator,), OperatorOutput(columns, source.aliases, frozenset(WINDOW), joinable=False)


def _distinct_names(written: WrittenOperator, keys: Sequence[str]) -> bool:
    """Whether each column that an aggregate gives has a name of its own, in any case; refuses the others."""
    names = {name.lower() for name in WINDOW}
    fields = [(f"groupBy[{i}]", key) for i, key in enumerate(keys)]
    fields += [(f"aggregates[{i}].name", a.name) for i, a in enumerate(written.spec.aggregates or ())]
    for field, name in fields:
        if name.lower() in names or is_hidden(name):
            wrong = f"{name} is already the name of another column of the result"
            wrong = f"{name} is a name of the runtime's own" if is_hidden(name) else wrong
            written.refuse(
                field, wrong, "give each column its own name" if "name" in field else "leave it out"
            )
            return False
        names.add(name.lower())
    return True


def _aggregations(written: WrittenOperator) -> list[tuple[Aggregation, str]] | None:
    """With the types of what they give; None when one is refused."""
    (source,) = written.inputs
    aggregations = []
    for i, aggregate in enumerate(written.spec.aggregates or ()):
        field = f"aggregates[{i}].expression"
        try:
            text = (
                parse_expression(aggregate.expression, source.columns).text if aggregate.expression else None
            )
            if text is None and aggregate.function != "count":
                written.refuse(field, "is missing", "only count goes without it")
                return None
            aggregation = Aggregation(aggregate.name, aggregate.function, text)
            aggregations.append((aggregation, aggregation_type(aggregation, source.columns)))
        except ExpressionError as error:
            written.refuse(field, str(error), "")
            return None
    return aggregations


def _short(column: str) -> str:
    return column.rsplit(".", 1)[-1]


def _union(written: WrittenOperator) -> Built | None:
    """Branches get the same names first: columns lose their streams' names."""
    spec, inputs = written.spec, written.inputs
    plain = [{_short(name): kind for name, kind in output.columns.items()} for output in inputs]
    branches = []
    for i, (name, output) in enumerate(zip(written.names, inputs, strict=True)):
        if len(plain[i]) < len(output.columns) or list(plain[i].items()) != list(plain[0].items()):
            wrong = f"{name} has columns {', '.join(f'{n} {k}' for n, k in plain[i].items())}"
            right = "every branch needs " + ", ".join(f"{n} {k}" for n, k in plain[0].items())
            written.refuse(f"inputs[{i}]", wrong, right)
            return None
        items = tuple(Item(_short(column), column) for column in output.columns)
        columns = tuple(output.columns)
        branches.append(Project(f"{spec.id}-{i + 1}", (name,), columns, items, nodes=tuple(spec.nodes)))
    hidden = [name for name in plain[0] if is_hidden(name)]
    if hidden:
        written.refuse("inputs", f"{hidden[0]} is a name of the runtime's own", "project the other columns")
        return None
    aliases = tuple(dict.fromkeys(alias for output in inputs for alias in output.aliases))
    times = frozenset.intersection(*(frozenset(map(_short, output.times)) for output in inputs))
    names = tuple(branch.id for branch in branches)
    operator = Union(spec.id, names, tuple(plain[0]), **written.common())
    return (*branches, operator), OperatorOutput(plain[0], aliases, times, joinable=False)


BUILD: Mapping[str, Callable[[WrittenOperator], Built | None]] = {
    "filter": _filter,
    "project": _project,
    "join": _join,
    "aggregate": _aggregate,
    "union": _union,
}
"""By kind; None when something was refused."""
