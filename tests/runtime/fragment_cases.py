"""Strategies for small queries and the logs that they read."""

from __future__ import annotations

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

TICK = 250_000
"""[us] Event times are multiples of it, so that ties are common."""


@dataclass(frozen=True)
class Case:
    """A query, its logs by alias, and how it is cut and read."""

    logs: dict[str, list[list[tuple[int, int, int]]]]
    operators: list[Operator]
    columns: list[str]
    ends: set[str]
    delay: int  # [us]
    most: int  # batches at once


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One to three sources, filters, window joins or a union, perhaps an aggregate, cut anywhere."""
    aliases = "abc"[: draw(st.integers(1, 3))]
    logs = {alias: draw(log()) for alias in aliases}
    operators: list[Operator] = []
    tops = {alias: alias for alias in aliases}
    for alias in aliases:
        if draw(st.booleans()):
            bound = draw(st.integers(0, 8))
            operators.append(Filter(f"f{alias}", (alias,), predicate=f"{alias}.v >= {bound}"))
            tops[alias] = f"f{alias}"
    if len(aliases) == 2 and draw(st.booleans()):
        top, columns = union(operators, tops)
    else:
        top, columns = joins(draw, operators, tops)
    if draw(st.booleans()) or not operators:
        top, columns = aggregate(draw, operators, top, columns)
    ends = {operator.id for operator in operators[:-1] if draw(st.booleans())}
    delay = draw(st.sampled_from([0, TICK, 4 * TICK]))
    return Case(logs, operators, columns, ends, delay, draw(st.sampled_from([1, 2, 64])))


def log() -> st.SearchStrategy[list[list[tuple[int, int, int]]]]:
    """Up to three batches of (k, v, time); an empty one is a stream that is idle for a while."""
    times = st.integers(1, 24).map(lambda tick: tick * TICK)
    row = st.tuples(st.integers(0, 2), st.integers(0, 9), times)
    return st.lists(st.lists(row, max_size=8), min_size=1, max_size=3)


def joins(draw: st.DrawFn, operators: list[Operator], tops: dict[str, str]) -> tuple[str, list[str]]:
    """A left-deep chain; each new source has a window with one or all of the sources before it."""
    aliases = list(tops)
    top = tops[aliases[0]]
    for i, alias in enumerate(aliases[1:], 1):
        partners = aliases[:i] if draw(st.booleans()) else [aliases[i - 1]]
        reach = [(draw(st.integers(-6, 0)) * TICK, draw(st.integers(0, 6)) * TICK) for _ in partners]
        windows = tuple(Window(p, alias, low, high) for p, (low, high) in zip(partners, reach, strict=True))
        on = f"{aliases[i - 1]}.k = {alias}.k" if draw(st.booleans()) else ""
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


def aggregate(
    draw: st.DrawFn, operators: list[Operator], top: str, columns: list[str]
) -> tuple[str, list[str]]:
    """Tumbling or sliding windows of one of the event times."""
    time = draw(st.sampled_from([name for name in columns if name.endswith(".ts")]))
    slide = draw(st.sampled_from([1.0, 2.0]))
    functions = ("count", "sum", "avg", "min", "max")
    operators.append(
        Aggregate(
            "g",
            (top,),
            items=(Item("k", "a.k"),) if draw(st.booleans()) else (),
            time=time,
            window=slide * draw(st.integers(1, 2)),
            slide=slide,
            aggregations=tuple(
                Aggregation(name, name, None if name == "count" else "a.v")  # type: ignore[arg-type]
                for name in functions
            ),
        )
    )
    names = ["k"] if operators[-1].items else []
    return "g", ["window.start", "window.end", *names, *functions]
