"""What a search may move: a source, an operator or a sink, and its numbers in the arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir_placement.cost.rules import Flow
from weir_placement.model.operators import Operator
from weir_placement.search.kernel import layout

HUGE = 1e300
"""Stands for no limit."""
EQUAL = 1e-9
"""Relative: headrooms that differ by less are equal."""
KIND = {
    "filter": layout.FILTER,
    "project": layout.PROJECT,
    "join": layout.JOIN,
    "aggregate": layout.AGGREGATE,
    "union": layout.UNION,
}


@dataclass
class Item:
    """A source alias, an operator or a sink of query number `query`."""

    query: int
    kind: int
    name: str
    children: list[int] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)
    op: Operator | None = None
    flows: list[Flow] = field(default_factory=list)  # of each point


def aliases(op: Operator) -> set[str]:
    """The source aliases that an operator's columns name."""
    return {column.split(".", 1)[0] for column in op.columns} | {
        side for window in op.windows for side in (window.left, window.right)
    }


def limited(value: float) -> float:
    """Compiled code has no infinity: anything from 1e300 on is none."""
    return min(value, HUGE)


def costs_of(item: Item) -> tuple[float, ...]:
    """cost, cost_pair, cost_out, selectivity, pairs, kept, row_overhead, memory, limit, fixed width."""
    op = item.op
    if op is None:
        width = item.flows[0].width if item.kind == layout.SOURCE else -1.0
        return (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, width)
    if op.kind == "join":
        pairs = 2.0 * op.half_width
        kept = min((w.reach for w in op.windows), default=0.0) + op.delay
        selectivity = max(pairs * op.selectivity, 1e-200)
        return (
            op.cost,
            op.cost_pair,
            op.cost_out,
            selectivity,
            pairs,
            kept,
            op.row_overhead,
            2 * op.memory,
            0.0,
            -1.0,
        )
    if op.kind == "aggregate":
        share = op.window / op.slide
        limit, memory = op.groups / op.slide, op.memory * op.groups * share
        return (op.cost, 0.0, 0.0, share, 0.0, 0.0, 0.0, memory, limit, item.flows[0].width)
    selectivity = op.selectivity if op.kind == "filter" else 1.0
    width = item.flows[0].width if op.kind == "project" else -1.0
    return (op.cost, 0.0, 0.0, selectivity, 0.0, 0.0, 0.0, op.memory, 0.0, width)
