"""How event times of the streams in a fragment bound each other: pure arithmetic in microseconds.

A stream's rows carry one event time, the later of its sources' times (runtime.md, "Fragments").
Spark drops state by a bound on the difference of the two sides' event times, but windows belong to
pairs of sources, so the bound follows from all the windows (a system of difference constraints).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from weir_placement.model.fragment import FOREVER, FragmentError
from weir_placement.model.operators import Aggregate, Join, Operator, Project, Window

from weir_runtime.names import PLAUSIBLE

SPARK_ROUNDING = 2_000
"""[us] Spark's watermarks are whole milliseconds: at most so much is lost by rounding at a join."""


@dataclass(frozen=True)
class Clocking:
    """What is known about the event times of one stream.

    Attributes:
        aliases: the sources whose times its rows carry one by one.
        windows: the windows that its rows are known to satisfy.
        times: columns that are event times -> at most so much [us] older than the row's event time.
        inherited: the part of `times` that was so already where the fragment reads the stream.
        lag: [us] that Spark's own watermark lies behind the inputs' at this place of the fragment.
        back: [us] that the clock given to the stream's readers lies behind the inputs' watermark.
    """

    aliases: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)
    inherited: Mapping[str, int] = field(default_factory=dict)
    lag: int = 0
    back: int = 0

    def to_json(self) -> dict[str, Any]:
        """For `stream.json`: what a reader of the stream must know."""
        return {
            "aliases": list(self.aliases),
            "windows": [[w.left, w.right, w.lower, w.upper] for w in self.windows],
            "times": dict(self.times),
        }

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Clocking:
        """The reader's side of `to_json`; a reader starts with no lag of its own."""
        times = dict(raw["times"])
        windows = tuple(Window(*item) for item in raw["windows"])
        return Clocking(tuple(raw["aliases"]), windows, times, inherited=times)


def source_clocking(alias: str, event_time: str) -> Clocking:
    """Of a stream where it enters."""
    return Clocking(aliases=(alias,), times={f"{alias}.{event_time}": 0})


def differences(aliases: Iterable[str], windows: Iterable[Window]) -> dict[tuple[str, str], float]:
    """Tightest upper bounds `t_a - t_b <= d[a, b]` that follow from the windows (Floyd-Warshall, O(n^3))."""
    names = list(aliases)
    bound = {(a, b): 0.0 if a == b else inf for a in names for b in names}
    for w in windows:
        if w.left in names and w.right in names:
            bound[w.left, w.right] = min(bound[w.left, w.right], w.upper)
            bound[w.right, w.left] = min(bound[w.right, w.left], -w.lower)
    for via in names:
        for a in names:
            for b in names:
                bound[a, b] = min(bound[a, b], bound[a, via] + bound[via, b])
    return bound


def join_range(left: Clocking, right: Clocking, windows: Iterable[Window], name: str) -> tuple[int, int]:
    """(lower, upper) [us] of `time_left - time_right`, each the latest of its side's sources.

    `max_a t_a - max_b t_b` is at most `max_a min_b d[a, b]`, and at least the same from the other side.
    Raises FragmentError when the windows do not bound it.
    """
    bound = differences((*left.aliases, *right.aliases), (*left.windows, *right.windows, *windows))
    if not left.aliases or not right.aliases:
        raise FragmentError(
            f"operator {name}: joins an aggregated or united stream; a window join needs sources' event times"
        )
    upper = max(min(bound[a, b] for b in right.aliases) for a in left.aliases)
    lower = -max(min(bound[b, a] for a in left.aliases) for b in right.aliases)
    if upper == inf or lower == -inf:
        raise FragmentError(f"operator {name}: no window bounds both sides; state would grow forever")
    if lower > upper:
        raise FragmentError(f"operator {name}: its windows exclude each other; no rows could ever join")
    return int(lower), int(upper)


def join_clocking(operator: Join, left: Clocking, right: Clocking) -> Clocking:
    """Of a window join's output."""
    lower, upper = join_range(left, right, operator.windows, operator.id)
    times = {column: behind + max(0, -lower) for column, behind in left.times.items()}
    times |= {column: behind + max(0, upper) for column, behind in right.times.items()}
    reach = max(abs(lower), abs(upper))
    return Clocking(
        (*left.aliases, *right.aliases),
        (*left.windows, *right.windows, *operator.windows),
        times,
        {**left.inherited, **right.inherited},
        lag=max(left.lag, right.lag) + reach + SPARK_ROUNDING,
        back=max(left.back, right.back),
    )


def project_clocking(operator: Project, inner: Clocking) -> Clocking:
    """Of a projection: event times keep their meaning under a new name."""
    renamed = {item.name: plain(item.expression) for item in operator.items}
    renamed = {name: column for name, column in renamed.items() if column in inner.times}
    return replace(
        inner,
        times={name: inner.times[column] for name, column in renamed.items()},
        inherited={name: inner.inherited.get(column, 0) for name, column in renamed.items()},
    )


def union_clocking(inners: list[Clocking]) -> Clocking:
    """Of a union: columns that are event times in every branch."""
    common = set(inners[0].times).intersection(*(inner.times for inner in inners[1:]))
    return Clocking(
        times={column: max(inner.times[column] for inner in inners) for column in common},
        inherited={column: max(inner.inherited.get(column, 0) for inner in inners) for column in common},
        lag=max(inner.lag for inner in inners),
        back=max(inner.back for inner in inners),
    )


def aggregate_clocking(operator: Aggregate, inner: Clocking, wait: int) -> Clocking:
    """Of windows, stamped with their end: one is published when Spark's watermark is `wait` [us] past it."""
    if operator.time not in inner.times:
        raise FragmentError(
            f"operator {operator.id}: groups by windows of {operator.time!r}, which is not an event time "
            f"here (event times: {', '.join(sorted(inner.times)) or 'none'})"
        )
    length = round(operator.window * 1e6)
    return Clocking(
        times={"window.end": 0, "window.start": length},
        lag=inner.lag,
        back=max(inner.back, inner.lag + wait),
    )


def clock_shift(operators: Iterable[Operator], inners: Mapping[str, Clocking]) -> int:
    """[us] to take from the inputs' clocks, so that no row is late for a window that groups rows.

    A clock speaks of the rows' event time; an operator may group by one source's older time. What
    the fragment's own joins add, Spark's watermark lags behind by itself; the rest is taken here.
    `inners` are the input streams of the operators that group by windows of time, by their id.
    """
    grouping = (op for op in operators if op.grouped_time)
    return max((inners[op.id].inherited.get(op.grouped_time, 0) for op in grouping), default=0)


def look_ahead(operators: Iterable[Operator], inners: Mapping[str, Clocking]) -> int:
    """[us] At most so much later than a row that leaves a fragment are the rows that it depends on: 0 but
    where windows group by a time that is older than its row's. `inners` as of `clock_shift`."""
    grouping = (op for op in operators if op.grouped_time)
    return sum(inners[op.id].times[op.grouped_time] for op in grouping)


def clock_of(watermark_ms: int, back: int) -> int:
    """[us] No row of a later batch is at or before this, given a batch's watermark [ms] and by how much [us]
    the stream's rows may be behind it."""
    watermark = watermark_ms * 1000
    return FOREVER if watermark >= PLAUSIBLE else max(0, watermark - back)


def plain(expression: str) -> str:
    """The column that an expression is, if it is nothing but a column."""
    return expression.replace("`", "")
