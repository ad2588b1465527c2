"""Rates and loads of a join block's sets as plain numbers: the formulas of `cost.rules`, for every split.

A block of five inputs has 90 joins, of which a plan uses four: making operators and load functions
for all of them would take a hundred times as long. A test holds these figures against `cost.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.operators import Join, Operator, Project
from weir_placement.network.join_block import JoinBlock

Sides = Sequence[Flow]
"""The flow of one side of a join, at each point of the profile."""


class Formula(NamedTuple):
    """Loads of a way over input rates r1, r2 [tuples/s]: CPU `left r1 + right r2 + pairs r1 r2` [CPU-us/s],
    memory `stored_left r1 + stored_right r2 + fixed` [bytes]."""

    left: float
    right: float
    pairs: float
    stored_left: float
    stored_right: float
    fixed: float


def _single(op: Operator, inputs: Sides) -> Formula:
    return Formula(op.cost, 0.0, 0.0, 0.0, 0.0, op.memory)


def _join(op: Join, inputs: Sides) -> Formula:
    pairs = 2.0 * op.half_width * (op.cost_pair + op.cost_out * op.selectivity)
    stored = [op.retention * (side.width + op.row_overhead) for side in inputs]
    return Formula(op.cost, op.cost, pairs, stored[0], stored[1], 2.0 * op.memory)


FORMULAS: Mapping[str, Callable[[Any, Sides], Formula]] = {
    "project": _single,
    "join": _join,
}


def formula_of(kind: str) -> Callable[[Any, Sides], Formula] | None:
    """Of a kind whose output rate is a product of input rates. Loads of others are those of `cost.rules` at
    the present rates, and their plan space is built anew when rates change."""
    return _single if RULES[kind].share else FORMULAS.get(kind)


NOTHING = Formula(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class BlockCosts:
    """Costs within one block; windows' half widths and reaches are kept by pair of inputs."""

    def __init__(self, block: JoinBlock) -> None:
        self.block = block
        self.windows = [(1 << i | 1 << j, w.half_width, w.reach) for i, j, w in block.windows]

    def _factor(self, mask: int, a: int, b: int) -> float:
        apart = self.block.factor[a] * self.block.factor[b]
        return self.block.factor[mask] / apart if apart > 0 else 0.0

    def flows(
        self, mask: int, a: int, b: int, left: Sides, right: Sides, pruned: Project | None
    ) -> tuple[Flow, ...]:
        """What leaves the set: the same for each of its splits."""
        factor = self._factor(mask, a, b)
        for op in self.block.residual(a, b):
            factor *= op.selectivity
        result = []
        for first, second in zip(left, right, strict=True):
            columns = {**first.columns, **second.columns}
            width = first.width + second.width
            if pruned is not None:
                columns = {item.name: columns[item.name] for item in pruned.items}
                width = sum(columns.values())
            result.append(Flow(Load.of(first.rate(1.0) * second.rate(1.0) * factor), columns, width))
        return tuple(result)

    def loads(self, mask: int, a: int, b: int, left: Sides, right: Sides, pruned: Project | None) -> Formula:
        """The loads of joining A and B, residual filters and projection among them."""
        like = self.block.like(a, b)
        half = retention = inf
        for pair, width, reach in self.windows:
            if pair & a and pair & b:
                half, retention = min(half, width), min(retention, reach)
        if half == inf:
            half = retention = 0.0
        retention += self.block.delay
        out = self._factor(mask, a, b)
        pairs = like.cost_pair * 2.0 * half + like.cost_out * out
        fixed = 2.0 * like.memory
        for op in self.block.residual(a, b):
            pairs += op.cost * out
            fixed += op.memory
            out *= op.selectivity
        if pruned is not None:
            pairs += pruned.cost * out
            fixed += pruned.memory
        stored = [retention * (side[0].width + like.row_overhead) for side in (left, right)]
        return Formula(like.cost, like.cost, pairs, stored[0], stored[1], fixed)
