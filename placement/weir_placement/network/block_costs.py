"""Rates and loads of a join block's sets as plain numbers: the formulas of `cost.rules`, for every split.

A block of five inputs has 90 joins, of which a plan uses four: making operators and load functions
for all of them would take a hundred times as long. A test holds these figures against `cost.rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

from weir_placement.cost.load import Load
from weir_placement.cost.rules import Flow
from weir_placement.model.operators import Operator
from weir_placement.network.join_block import JoinBlock

Sides = Sequence[Flow]
"""The flow of one side of a join, at each point of the profile."""


class BlockCosts:
    """Costs within one block; windows' half widths and reaches are kept by pair of inputs."""

    def __init__(self, block: JoinBlock) -> None:
        self.block = block
        self.windows = [(1 << i | 1 << j, w.half_width, w.reach) for i, j, w in block.windows]

    def _factor(self, mask: int, a: int, b: int) -> float:
        apart = self.block.factor[a] * self.block.factor[b]
        return self.block.factor[mask] / apart if apart > 0 else 0.0

    def flows(
        self, mask: int, a: int, b: int, left: Sides, right: Sides, pruned: Operator | None
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

    def loads(
        self, mask: int, a: int, b: int, left: Sides, right: Sides, pruned: Operator | None
    ) -> tuple[float, float]:
        """CPU [CPU-us/s] and memory [bytes] of joining A and B, the largest over the points."""
        like = self.block.like(a, b)
        crossing = [(w, reach) for pair, w, reach in self.windows if pair & a and pair & b]
        half = min((w for w, _ in crossing), default=0.0)
        kept = min((reach for _, reach in crossing), default=0.0) + self.block.delay
        factor = self._factor(mask, a, b)
        residual = self.block.residual(a, b)
        cpu = memory = 0.0
        for one, two in zip(left, right, strict=True):
            first, second = one.rate(1.0), two.rate(1.0)
            out = first * second * factor
            used = (
                like.cost * (first + second)
                + like.cost_pair * 2.0 * half * first * second
                + like.cost_out * out
            )
            held = first * (one.width + like.row_overhead) + second * (two.width + like.row_overhead)
            held = kept * held + 2.0 * like.memory
            for op in residual:
                used += op.cost * out
                held += op.memory
                out *= op.selectivity
            if pruned is not None:
                used += pruned.cost * out
                held += pruned.memory
            cpu, memory = max(cpu, used), max(memory, held)
        return cpu, memory
