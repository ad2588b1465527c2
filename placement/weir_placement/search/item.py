"""What a search may move: a source, an operator or a sink, and its numbers in the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.operators import Aggregate, Join, Operator, Project, Union
from weir_placement.search.kernel import layout

HUGE = 1e300
"""Stands for no limit."""
EQUAL = 1e-9
"""Relative: headrooms that differ by less are equal."""


@dataclass
class SearchItem:
    """A source alias, an operator or a sink of query number `query`."""

    query: int
    kind: int
    name: str
    children: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)
    op: Operator | None = None
    flows: list[Flow] = field(default_factory=list)  # of each point
    selectivities: list[float] = field(default_factory=list)  # of each point, as in `Numbers`


def limited(value: float) -> float:
    """Compiled code has no infinity: anything from 1e300 on is none."""
    return min(value, HUGE)


class Numbers(NamedTuple):
    """An operator in the arrays of a search: the formulas of `cost.rules` as the compiled code computes them.

    Of inputs with rates r and widths m an item gives `selectivity` times the sum of r; an AGGREGATE at most
    `limit`, a JOIN `selectivity` times their product. Its CPU is `cost` times the sum of r, its memory is
    `memory`; a JOIN has `cost_pair pairs r1 r2 + cost_out out` more, and keeps `kept (m + row_overhead) r` of
    each input; an AGGREGATE keeps `group_memory out`.
    """

    cost: float = 0.0
    cost_pair: float = 0.0
    cost_out: float = 0.0
    selectivity: float = 1.0
    pairs: float = 0.0
    retention: float = 0.0
    row_overhead: float = 0.0
    memory: float = 0.0
    group_memory: float = 0.0
    limit: float = 0.0
    fixed_width: float = -1.0  # [bytes] of a tuple; -1: that of its inputs
    delay: float = 0.0  # [s] of the watermark, in `retention`


@dataclass(frozen=True)
class Code:
    """How a kind of operator is encoded: its number in the compiled code, and its numbers from it and the
    width of what it gives [bytes]."""

    kind: int
    numbers: Callable[[Any, float], Numbers]


def _project(op: Project, width: float) -> Numbers:
    return Numbers(op.cost, memory=op.memory, fixed_width=width)


def _join(op: Join, width: float) -> Numbers:
    pairs = 2.0 * op.half_width
    return Numbers(
        op.cost,
        op.cost_pair,
        op.cost_out,
        selectivity=max(pairs * op.selectivity, 1e-200),
        pairs=pairs,
        retention=op.retention,
        row_overhead=op.row_overhead,
        memory=2 * op.memory,
        delay=op.delay,
    )


def _aggregate(op: Aggregate, width: float) -> Numbers:
    share = op.window / op.slide
    return Numbers(
        op.cost,
        selectivity=share,
        group_memory=op.memory * op.window,
        limit=op.groups / op.slide,
        fixed_width=width,
    )


def _union(op: Union, width: float) -> Numbers:
    return Numbers(op.cost, memory=op.memory)


CODES: Mapping[str, Code] = {
    "project": Code(layout.PROJECT, _project),
    "join": Code(layout.JOIN, _join),
    "aggregate": Code(layout.AGGREGATE, _aggregate),
    "union": Code(layout.UNION, _union),
}
"""By kind of operator, apart from those that hand on a share of their rows."""


@cache
def code_of(kind: str) -> Code:
    """The compiled code knows some kinds: any other is encoded as the one that its formulas are like, and
    moves only if it says so (`movable`); one that moves is swapped as that kind is.

    Raises:
        KeyError: `CODES` lacks a kind that needs formulas of its own.
    """
    share = RULES[kind].share
    if share is None:
        return CODES[kind]
    return Code(layout.FILTER, lambda op, width: Numbers(op.cost, selectivity=share(op), memory=op.memory))


def selectivity_of(op: Operator) -> float:
    """As in `Numbers`."""
    return code_of(op.kind).numbers(op, 0.0).selectivity


def numbers_of(item: SearchItem) -> Numbers:
    """What is written of an item into the arrays."""
    if item.op is None:
        return Numbers(fixed_width=item.flows[0].width) if item.kind == layout.SOURCE else Numbers()
    return code_of(item.op.kind).numbers(item.op, item.flows[0].width)
