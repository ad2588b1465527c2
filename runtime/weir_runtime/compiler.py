"""Operators to a Spark DataFrame, streaming or batch.

Frames have the payload's columns under their qualified names, and hidden ones: `_time` (the event
time), `_id` (binary, unique in the stream and the same at every replay), and `_t_<alias>` (event time
[us] of each source joined so far, for windows between pairs of sources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from weir_placement.model.expressions import conjuncts, equality_sides, spark_text
from weir_placement.model.fragment import FragmentError
from weir_placement.model.operators import Aggregate, Aggregation, Filter, Join, Operator, Project, Union
from weir_placement.model.waits import waits

from weir_runtime import times
from weir_runtime.times import Clocking

TIME = "_time"
ID = "_id"
HIDDEN = (TIME, ID)

EVENT_TIME = {"spark.watermarkDelayMs": 0}
"""Spark's own mark of an event-time column. A join's later time cannot be declared by `withWatermark`
again; a column that carries the mark is accepted (a test guards this at every upgrade)."""

Observe = Callable[[DataFrame, str], DataFrame]


@dataclass(frozen=True)
class FrameFlow:
    """A stream inside a fragment."""

    frame: DataFrame
    columns: tuple[str, ...]
    clocking: Clocking


@dataclass(frozen=True)
class Compiled:
    """The output stream, and what operators that group by windows of time read: its clocking by their ids."""

    output: FrameFlow
    grouped: Mapping[str, Clocking]


def column(name: str) -> Column:
    """A column that is literally so named."""
    return f.col(f"`{name}`")


def source_time(alias: str) -> str:
    """Hidden column with a source's event time [us]."""
    return f"_t_{alias}"


def event_time(value: Column) -> Column:
    """`value` as the stream's event time."""
    return value.alias(TIME, metadata=EVENT_TIME)


def source_flow(frame: DataFrame, alias: str, columns: Iterable[str], time: str) -> FrameFlow:
    """A source's frame (columns as the stream names them, `_id`) as a stream of qualified columns."""
    names = tuple(columns)
    frame = frame.select(
        *(column(name).alias(f"{alias}.{name}") for name in names),
        event_time(column(time)),
        column(ID),
        f.unix_micros(column(time)).alias(source_time(alias)),
    )
    return FrameFlow(frame, tuple(f"{alias}.{name}" for name in names), times.source_clocking(alias, time))


def exchange_flow(frame: DataFrame, columns: Iterable[str], clocking: Clocking) -> FrameFlow:
    """Another fragment's output as a stream."""
    names = tuple(columns)
    hidden = [column(ID), *(column(source_time(alias)) for alias in clocking.aliases)]
    frame = frame.select(*map(column, names), event_time(column(TIME)), *hidden)
    return FrameFlow(frame, names, clocking)


def compile_operators(
    operators: Iterable[Operator],
    inputs: Mapping[str, FrameFlow],
    observe: Observe = lambda frame, name: frame,
) -> Compiled:
    """The last operator's stream. `observe` may wrap every operator's output, to count its rows.

    Raises FragmentError for operators that do not fit together.
    """
    operators = tuple(operators)
    waiting = {name: {"wait": wait} for name, wait in waits(operators).items()}
    flows = dict(inputs)
    grouped: dict[str, Clocking] = {}
    name = next(iter(inputs))
    for operator in operators:
        below = [flows[source] for source in operator.inputs]
        if operator.grouped_time:
            grouped[operator.id] = below[0].clocking
        flow = COMPILE[operator.kind](operator, *below, **waiting.get(operator.id, {}))
        name = operator.id
        flows[name] = FrameFlow(observe(flow.frame, name), flow.columns, flow.clocking)
    return Compiled(flows[name], grouped)


def _hidden(flow: FrameFlow) -> list[Column]:
    return [column(name) for name in (TIME, ID, *map(source_time, flow.clocking.aliases))]


def _filter(operator: Filter, flow: FrameFlow) -> FrameFlow:
    return FrameFlow(flow.frame.where(f.expr(spark_text(operator.predicate))), flow.columns, flow.clocking)


def _project(operator: Project, flow: FrameFlow) -> FrameFlow:
    items = [f.expr(spark_text(item.expression)).alias(item.name) for item in operator.items]
    frame = flow.frame.select(*items, *_hidden(flow))
    return FrameFlow(
        frame, tuple(item.name for item in operator.items), times.project_clocking(operator, flow.clocking)
    )


def _join(operator: Join, left: FrameFlow, right: FrameFlow) -> FrameFlow:
    clocking = times.join_clocking(operator, left.clocking, right.clocking)
    lower, upper = times.join_range(left.clocking, right.clocking, operator.windows, operator.id)
    l, r = column("_time_l"), column("_time_r")  # noqa: E741 - the sides of a join
    matches = [l >= r + _interval(lower), l <= r + _interval(upper)]
    matches += [f.expr(spark_text(operator.on))] if operator.on else []
    keyless = not _has_equality(operator.on, left.columns, right.columns)
    matches += [column("_any_l") == column("_any_r")] if keyless else []
    if len(clocking.aliases) > 2:
        matches += [
            (column(source_time(w.left)) - column(source_time(w.right))).between(w.lower, w.upper)
            for w in operator.windows
        ]
    sides = [_side(flow, mark, keyless) for flow, mark in ((left, "_l"), (right, "_r"))]
    joined = sides[0].join(sides[1], reduce(Column.__and__, matches), "inner")
    names = (*left.columns, *right.columns)
    frame = joined.select(
        *map(column, names),
        event_time(f.greatest(l, r)),
        f.concat(column("_id_l"), column("_id_r")).alias(ID),
        *(column(source_time(alias)) for alias in clocking.aliases),
    )
    return FrameFlow(frame, names, clocking)


def _has_equality(on: str, left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether some conjunct is an equality of one side with the other, as Spark looks for it."""
    pairs = [equality_sides(part.text, ("EQ", "NullSafeEQ")) for part in conjuncts(on)]
    return any(
        (a <= set(left) and b <= set(right)) or (a <= set(right) and b <= set(left))
        for a, b in filter(None, pairs)
        if a and b
    )


def _side(flow: FrameFlow, mark: str, keyless: bool) -> DataFrame:
    """One side of a join, its hidden columns renamed. Spark insists on an equality: without one, both
    sides get the same key, by an expression that it does not fold."""
    hidden = [column(TIME).alias(TIME + mark), column(ID).alias(ID + mark)]
    hidden += [column(source_time(alias)) for alias in flow.clocking.aliases]
    if keyless:
        hidden.append(f.pmod(f.unix_micros(column(TIME)), f.lit(1)).alias("_any" + mark))
    return flow.frame.select(*map(column, flow.columns), *hidden)


def _aggregate(operator: Aggregate, flow: FrameFlow, wait: int) -> FrameFlow:
    clocking = times.aggregate_clocking(operator, flow.clocking, wait)
    groups = [f.expr(spark_text(item.expression)).alias(item.name) for item in operator.items]
    values = {
        a.name: f.expr(spark_text(a.expression)).alias(f"_v_{a.name}")
        for a in operator.aggregations
        if a.expression is not None
    }
    # To wait, rows are grouped by windows that lie so much later; what leaves has the true times.
    frame = flow.frame.select(*groups, *values.values(), event_time(_later(column(operator.time), wait)))
    length, slide = round(operator.window * 1e6), round(operator.slide * 1e6)
    window = f.window(column(TIME), *(_micros(n) for n in (length, slide, wait % slide)))
    names = [item.name for item in operator.items]
    grouped = frame.groupBy(window.alias("_window"), *map(column, names))
    results = [_aggregation(a) for a in operator.aggregations]
    frame = grouped.agg(*(results or [f.count(f.lit(1)).alias("_v_rows")]))  # Spark wants one at least
    start, end = (_later(f.col(f"_window.{side}"), -wait) for side in ("start", "end"))
    names += [a.name for a in operator.aggregations]
    frame = frame.select(
        start.alias("window.start"),
        end.alias("window.end"),
        *map(column, names),
        event_time(end),
        _group_id([f.unix_micros(end), *(column(item.name) for item in operator.items)]).alias(ID),
    )
    return FrameFlow(frame, ("window.start", "window.end", *names), clocking)


def _later(time: Column, micros: int) -> Column:
    return time + _interval(micros) if micros else time


def _aggregation(item: Aggregation) -> Column:
    function = {"count": f.count, "sum": f.sum, "avg": f.avg, "min": f.min, "max": f.max}[item.function]
    value = f.lit(1) if item.expression is None else column(f"_v_{item.name}")
    return function(value).alias(item.name)


def _group_id(parts: list[Column]) -> Column:
    """Window and group as bytes: each value with its length, so that no two groups run together."""
    texts = [f.coalesce(part.cast("string"), f.lit("")) for part in parts]
    marks = [
        f.when(part.isNull(), f.lit("-")).otherwise(f.length(text).cast("string"))
        for part, text in zip(parts, texts, strict=True)
    ]
    pieces = [piece for pair in zip(marks, texts, strict=True) for piece in (pair[0], f.lit(":"), pair[1])]
    return f.concat(*pieces).cast("binary")


def _union(operator: Union, *flows: FrameFlow) -> FrameFlow:
    names = flows[0].columns
    for flow, source in zip(flows, operator.inputs, strict=True):
        if len(flow.columns) != len(names):
            raise FragmentError(
                f"operator {operator.id}: {source} has {len(flow.columns)} columns, "
                f"{operator.inputs[0]} has {len(names)}; all inputs of a union have as many"
            )
    frames = [
        flow.frame.select(
            *(column(old).alias(new) for old, new in zip(flow.columns, names, strict=True)),
            column(TIME),
            f.concat(f.lit(bytes([branch])), column(ID)).alias(ID),
        )
        for branch, flow in enumerate(flows)
    ]
    clocking = times.union_clocking([_renamed(flow, names) for flow in flows])
    return FrameFlow(reduce(DataFrame.unionAll, frames), names, clocking)


def _renamed(flow: FrameFlow, names: tuple[str, ...]) -> Clocking:
    """Columns of a union are the same by position."""
    new = dict(zip(flow.columns, names, strict=True))
    clocking = flow.clocking
    return Clocking(
        times={new[old]: behind for old, behind in clocking.times.items() if old in new},
        inherited={new[old]: behind for old, behind in clocking.inherited.items() if old in new},
        lag=clocking.lag,
        back=clocking.back,
    )


def _interval(micros: int) -> Column:
    sign, (seconds, rest) = "-" if micros < 0 else "", divmod(abs(micros), 10**6)
    return f.expr(f"INTERVAL '{sign}{seconds}.{rest:06d}' SECOND")


def _micros(value: int) -> str:
    return f"{value} microseconds"


COMPILE: Mapping[str, Callable[..., FrameFlow]] = {
    "filter": _filter,
    "project": _project,
    "join": _join,
    "aggregate": _aggregate,
    "union": _union,
}
"""By kind: the operator and the streams that it reads -> the stream that leaves."""
