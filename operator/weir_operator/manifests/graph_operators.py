"""One operator of an explicit graph, by kind: its checks, and what it becomes in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from weir_placement.model.expression_parser import ExpressionError
from weir_placement.model.expressions import (
    aggregation_type,
    columns_of,
    conjuncts,
    parse_expression,
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
from weir_placement.model.suggestion import suggestion
from weir_placement.model.types import is_hidden
from weir_placement.rewrite import estimates
from weir_placement.rewrite.grouping import LONGEST_WINDOW

from weir_operator.manifests.graph_context import OperatorContext, OperatorOutput

WINDOW = {"window.start": "TIMESTAMP", "window.end": "TIMESTAMP"}

BuiltOperator = tuple[tuple[Operator, ...], OperatorOutput]
"""The operator, preceded by those that it needs before it, and its output."""


def _filter(context: OperatorContext) -> BuiltOperator | None:
    spec, (source,) = context.spec, context.inputs
    context.has(spec.columns or (), source.columns, "columns")
    predicate = context.condition(spec.predicate or "", source.columns, "predicate")
    if predicate is None:
        return None
    selectivity = spec.selectivity
    if selectivity is None:
        selectivity = estimates.filter_selectivity(predicate, context.distinct())
    operator = Filter(
        spec.id,
        context.names,
        tuple(spec.columns or columns_of(predicate)),
        predicate,
        selectivity=selectivity,
        max_selectivity=spec.max_selectivity or 0.0,
        **context.common(),
    )
    return (operator,), source


def _project(context: OperatorContext) -> BuiltOperator | None:
    spec, (source,) = context.spec, context.inputs
    columns = tuple(spec.columns or ())
    if not context.has(columns, source.columns, "columns"):
        return None
    items = tuple(Item(name, name) for name in columns)
    operator = Project(spec.id, context.names, columns, items, **context.common())
    types = {name: source.columns[name] for name in columns}
    return (operator,), replace(source, columns=types, times=source.times & types.keys())


def _join(context: OperatorContext) -> BuiltOperator | None:
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
        max_selectivity=spec.max_selectivity or 0.0,
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


def _aggregate(context: OperatorContext) -> BuiltOperator | None:
    spec, (source,) = context.spec, context.inputs
    keys = tuple(spec.group_by or ())
    time = spec.time or context.only_time()
    if not context.has(keys, source.columns, "groupBy") or time is None:
        return None
    if time not in source.columns and not spec.time:
        times = ", ".join(sorted(source.times)) or "none is left: keep it in the columns of the projection"
        context.refuse("time", f"is missing, and {time} is not in the input", f"name an event time: {times}")
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
        context.refuse("window", "0s is not a length", "write a duration above 0, such as 1m")
    elif window > LONGEST_WINDOW:
        right = f"write a duration of at most {LONGEST_WINDOW / 3600:g}h"
        context.refuse("window", f"{window / 3600:.0f}h is too long", right)
    elif slide is not None and slide <= 0:
        context.refuse("slide", "0s is not a length", "write a duration above 0, or leave it out")
    elif slide is not None and slide > window:
        wrong = f"{slide:g}s is longer than the window, {window:g}s: rows between windows would be lost"
        context.refuse("slide", wrong, f"write a duration of at most {window:g}s, or leave it out")
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


def _union(context: OperatorContext) -> BuiltOperator | None:
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


BUILD: Mapping[str, Callable[[OperatorContext], BuiltOperator | None]] = {
    "filter": _filter,
    "project": _project,
    "join": _join,
    "aggregate": _aggregate,
    "union": _union,
}
"""By kind; None when something was refused."""
