"""Strategies for small queries and the logs that they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
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

from tests.runtime.feeding import Order

TICK = 250_000
"""[us] Event times are multiples of it, so that ties are common."""


@dataclass(frozen=True)
class FragmentCase:
    """A query, its logs by alias, and how it is cut and read."""

    logs: dict[str, list[list[tuple[int, int, int]]]]
    operators: list[Operator]
    columns: list[str]
    ends: set[str]
    delay: int  # [us]
    most: int  # batches at once
    live: Order  # in which its logs grow while it runs; empty: they are there before


@st.composite
def cases(draw: st.DrawFn) -> FragmentCase:
    """One to three sources, filters, window joins or a union, up to three aggregates in a row, or a union of
    aggregates; cut anywhere."""
    aliases = "abc"[: draw(st.integers(1, 3))]
    logs = {alias: draw(log()) for alias in aliases}
    operators: list[Operator] = []
    tops = {alias: alias for alias in aliases}
    for alias in aliases:
        if draw(st.booleans()):
            bound = draw(st.integers(0, 4))
            operators.append(Filter(f"f{alias}", (alias,), predicate=f"{alias}.v >= {bound}"))
            tops[alias] = f"f{alias}"
    aggregates = draw(st.integers(0 if operators else 1, 3))
    if len(aliases) == 2 and draw(st.booleans()):
        top, columns = union(operators, tops)
    elif len(aliases) == 2 and draw(st.booleans()):
        top, columns = union_of_aggregates(draw, operators, tops)
    else:
        top, columns = joins(draw, operators, tops)
    for i in range(aggregates):
        top, columns = aggregate(draw, operators, top, columns, f"g{i}")
    ends = {operator.id for operator in operators[:-1] if draw(st.booleans())}
    delay = draw(st.sampled_from([0, TICK, 4 * TICK, 12 * TICK][len(aliases) // 3 * 2 :]))
    most = draw(st.sampled_from([1, 2, 64]))
    return FragmentCase(logs, operators, columns, ends, delay, most, draw(st.just([]) | feed_order(logs)))


def feed_order(logs: Mapping[str, Sequence[object]]) -> st.SearchStrategy[Order]:
    """Of the files and ENDs of all logs: a stream may be far ahead of another, or end before it begins."""
    steps = [alias for alias, batches in logs.items() for _ in range(len(batches) + 1)]
    waits = st.lists(st.booleans(), min_size=len(steps), max_size=len(steps))
    return st.builds(
        lambda order, awaited: [*zip(order, awaited, strict=True)], st.permutations(steps), waits
    )


def log() -> st.SearchStrategy[list[list[tuple[int, int, int]]]]:
    """Up to three batches of (k, v, time), or none; an empty one is a stream that is idle for a while."""
    times = st.integers(1, 24).map(lambda tick: tick * TICK)
    row = st.tuples(st.integers(0, 2), st.integers(0, 9), times)
    full, idle = st.lists(row, min_size=5, max_size=12), st.just([])
    batches = st.lists(full | full | idle, min_size=1, max_size=3)
    return st.builds(lambda first, others: [*first, *others], st.lists(full, min_size=1, max_size=1), batches)


def joins(draw: st.DrawFn, operators: list[Operator], tops: dict[str, str]) -> tuple[str, list[str]]:
    """A left-deep chain; each new source has a window with one or all of the sources before it."""
    aliases = list(tops)
    top = tops[aliases[0]]
    ticks = st.sampled_from([0, 3, 6, 12])
    for i, alias in enumerate(aliases[1:], 1):
        partners = aliases[:i] if draw(st.booleans()) else [aliases[i - 1]]
        reach = [(-draw(ticks) * TICK, draw(ticks) * TICK) for _ in partners]
        windows = tuple(Window(p, alias, low, high) for p, (low, high) in zip(partners, reach, strict=True))
        before = aliases[i - 1]
        on = draw(st.sampled_from([f"{before}.k = {alias}.k", f"{before}.k <= {alias}.v", ""]))
        operators.append(Join(f"j{i}", (top, tops[alias]), on=on, windows=windows))
        top = f"j{i}"
    return top, [f"{alias}.{column}" for alias in aliases for column in ("k", "v", "ts")]


def union(operators: list[Operator], tops: dict[str, str]) -> tuple[str, list[str]]:
    """Of two sources, by position."""
    for alias, below in tops.items():
        items = tuple(Item(f"a.{name}", f"{alias}.{name}") for name in ("k", "v", "ts"))
        operators.append(Project(f"p{alias}", (below,), items=items))
    operators.append(Union("u", tuple(f"p{alias}" for alias in tops)))
    return "u", ["a.k", "a.v", "a.ts"]


def union_of_aggregates(
    draw: st.DrawFn, operators: list[Operator], tops: dict[str, str]
) -> tuple[str, list[str]]:
    """Windows of two sources, which close at different times."""
    columns = ["first.ts", "last.ts", "u.v"]
    for alias, below in tops.items():
        top, _ = aggregate(draw, operators, below, [f"{alias}.v", f"{alias}.ts"], f"w{alias}")
        values = ("window.start", "window.`end`", "sum")
        items = tuple(Item(name, value) for name, value in zip(columns, values, strict=True))
        operators.append(Project(f"p{alias}", (top,), items=items))
    operators.append(Union("u", tuple(f"p{alias}" for alias in tops)))
    return "u", columns


def aggregate(
    draw: st.DrawFn, operators: list[Operator], top: str, columns: list[str], name: str
) -> tuple[str, list[str]]:
    """Tumbling or sliding windows of one of the event times, which may be another window's start or end."""
    times = [column for column in columns if column.endswith(".ts") or column.startswith("window.")]
    value = next(column for column in columns if column.endswith(".v") or column == "sum")
    keys = [column for column in ("a.k", "k") if column in columns]
    slide = draw(st.sampled_from([1.0, 2.0]))
    functions = ("count", "sum", "avg", "min", "max")
    operators.append(
        Aggregate(
            name,
            (top,),
            items=tuple(Item("k", key) for key in keys) if draw(st.booleans()) else (),
            time=draw(st.sampled_from(times)),
            window=slide * draw(st.integers(1, 2)),
            slide=slide,
            aggregations=tuple(
                Aggregation(function, function, None if function == "count" else value)  # type: ignore[arg-type]
                for function in functions
            ),
        )
    )
    names = ["k"] if operators[-1].items else []
    return name, ["window.start", "window.end", *names, *functions]
