"""Join execution plans: one chain of one-way joins for each stream (NOS, Definition 1 and invariant 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from weir_placement.joins.streams import MultiwayJoin, Partial, placed_cost, source, step_cost


@dataclass(frozen=True)
class Sep:
    """SEP_i = (O_i, P_i), the stream execution plan that a new tuple of the head stream goes through.

    Attributes:
        head: i, the index of the head stream.
        order: O_i, the indexes of the m - 1 other streams as they are joined.
        bits: P_i, for each of them 0 when it is shipped to where the flow is, 1 when the flow is shipped to
            it.

    Raises:
        ValueError: the order has the head or a stream twice, or there is not one bit of 0 or 1 a step.
    """

    head: int
    order: tuple[int, ...]
    bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.head in self.order or len(set(self.order)) != len(self.order):
            raise ValueError(
                f"SEP of stream {self.head}: order {self.order} must contain every other stream once"
            )
        if len(self.bits) != len(self.order) or not set(self.bits) <= {0, 1}:
            raise ValueError(f"SEP of stream {self.head}: bits {self.bits} must be one 0 or 1 for each step")

    def __str__(self) -> str:
        order = ", ".join(f"S{stream + 1}" for stream in self.order)
        return f"([{order}], {list(self.bits)})"


JoinExecutionPlan = tuple[Sep, ...]
"""A join execution plan (JEP): SEP_i at index i."""


class Breach(NamedTuple):
    """A step at which invariant (4) does not hold: a later stream would have been cheaper there."""

    head: int
    position: int
    cheaper: int


def flows(join: MultiwayJoin, sep: Sep) -> list[Partial]:
    """S^i_0 .. S^i_{m-1}: what the chain carries before each step and after the last one. O(m)."""
    carried = [source(join.streams[sep.head])]
    for stream in sep.order:
        carried.append(carried[-1].joined(join.streams[stream]))
    return carried


def step_costs(join: MultiwayJoin, sep: Sep) -> list[float]:
    """[s/s] of each step, where its bit places it (equations 1 and 2)."""
    return [
        placed_cost(flow, join.streams[stream], bit, join.costs)
        for flow, stream, bit in zip(flows(join, sep), sep.order, sep.bits, strict=False)
    ]


def plan_cost(join: MultiwayJoin, plan: JoinExecutionPlan) -> float:
    """[s/s], the sum of C_SEP_i over all chains, each paying for its own ships and updates. O(m^2)."""
    return sum(sum(step_costs(join, sep)) for sep in plan)


def breaches(join: MultiwayJoin, plan: JoinExecutionPlan) -> list[Breach]:
    """Where C(k-1, k) <= C(k-1, p) fails for some p, k < p <= m - 1: invariant (4). O(m^3).

    The copy of the paper that we have breaks off within the range of p; Algorithm 1 leaves only this one.
    """
    broken = []
    for sep in plan:
        carried = flows(join, sep)
        for k, stream in enumerate(sep.order):
            own = step_cost(carried[k], join.streams[stream], join.costs).cost
            broken += [
                Breach(sep.head, k, later)
                for later in sep.order[k + 1 :]
                if step_cost(carried[k], join.streams[later], join.costs).cost < own
            ]
    return broken
