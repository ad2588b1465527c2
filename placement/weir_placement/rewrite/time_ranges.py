"""Recognises conditions on two streams' event times and makes windows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING

from weir_placement.model.expression_parser import parse_tree
from weir_placement.model.expression_writer import interval_micros
from weir_placement.model.functions import UNIT_MICROS
from weir_placement.model.operators import Window
from weir_placement.model.windows import implied, tighten

if TYPE_CHECKING:
    from sqlglot.expressions import Expression as Node

TimeLimits = dict[tuple[str, str], float]
"""`limits[a, b]`: the greatest `t_a - t_b` [us] that conditions allow; missing: no limit."""

_FLIPPED = {"LT": "GT", "LTE": "GTE", "GT": "LT", "GTE": "LTE", "EQ": "EQ"}


def time_limits(text: str, times: Mapping[str, str]) -> TimeLimits | None:
    """The limits in a canonical condition such as `a.ts <= b.ts + INTERVAL '5' SECOND`.

    `times` maps each event-time column to its alias. Strict comparisons leave out one microsecond,
    the resolution of Spark's timestamps. None: it is not a condition on two streams' event times.
    """
    return _limits(parse_tree(text), times)


def _limits(node: Node, times: Mapping[str, str]) -> TimeLimits | None:
    name = type(node).__name__
    if name == "Paren":
        return _limits(node.this, times)
    if name == "Between":
        low = _compare("GTE", node.this, node.args["low"], times)
        high = _compare("LTE", node.this, node.args["high"], times)
        return {**low, **high} if low and high else None
    return _compare(name, node.this, node.expression, times) if name in _FLIPPED else None


def _compare(comparison: str, left: Node, right: Node, times: Mapping[str, str]) -> TimeLimits | None:
    """`t_a + x (comparison) t_b + y`, that is `t_a - t_b (comparison) y - x`."""
    first, second = _moment(left, times), _moment(right, times)
    if first is None or second is None or first[0] == second[0]:
        return None
    (a, x), (b, y) = first, second
    distance = y - x
    limits: TimeLimits = {}
    if comparison in ("LT", "LTE", "EQ"):
        limits[a, b] = distance - (comparison == "LT")
    if comparison in ("GT", "GTE", "EQ"):
        limits[b, a] = -distance - (comparison == "GT")
    return limits


def _moment(node: Node, times: Mapping[str, str]) -> tuple[str, int] | None:
    """(alias, offset [us]) of an event-time column moved by intervals."""
    name = type(node).__name__
    if name == "Paren":
        return _moment(node.this, times)
    if name == "Column":
        alias = times.get(".".join(part.name for part in node.parts))  # type: ignore[attr-defined]
        return None if alias is None else (alias, 0)
    if name not in ("Add", "Sub"):
        return None
    inner, micros = _moment(node.this, times), interval_micros(node.expression)
    if inner is None or micros is None:
        return None
    return inner[0], inner[1] + (micros if name == "Add" else -micros)


def interval_in_words(micros: int) -> str:
    """In the largest unit of SQL that gives a whole number.

    >>> interval_in_words(90_000_000), interval_in_words(60_000_000), interval_in_words(1500)
    ('90 seconds', '1 minute', '1500 microseconds')
    """
    units = sorted(UNIT_MICROS.items(), key=lambda unit: -unit[1])
    name, size = next(unit for unit in units if micros % unit[1] == 0)
    return f"{micros // size} {name.lower()}{'' if micros == size else 's'}"


def merge(limits: Iterable[TimeLimits]) -> TimeLimits:
    """All conditions together: the tightest of each."""
    merged: TimeLimits = {}
    for part in limits:
        for pair, limit in part.items():
            merged[pair] = min(limit, merged.get(pair, inf))
    return merged


def windows_of(limits: TimeLimits, order: list[str]) -> tuple[list[Window], list[tuple[str, str]]]:
    """(windows, pairs without a limit on one side), each pair as in `order`.

    A side that no condition limits may follow from the other pairs' limits.
    """
    bounds = tighten(limits)
    windows: list[Window] = []
    open_pairs: list[tuple[str, str]] = []
    for i, left in enumerate(order):
        for right in order[i + 1 :]:
            direct = {pair: limits[pair] for pair in ((left, right), (right, left)) if pair in limits}
            if not direct:
                continue
            window = implied(direct, left, right) or implied({**bounds, **direct}, left, right)
            if window is None:
                open_pairs.append((left, right))
            else:
                windows.append(window)
    return windows, open_pairs
