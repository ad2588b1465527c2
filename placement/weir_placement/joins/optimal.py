"""`nos_optimal`: the cheapest chains by equations 1 to 3, for 2 to 10 streams.

NOS gives Algorithm 1 only, and calls optimal plans intractable (section 3). For one chain they are not: what
a chain carries after the steps of a set of streams does not depend on their order (Partial.joined), so the
best way to have joined a set is a number of that set, and one dynamic program over sets finds the optimum:

    best(S) = min over s in S of best(S - s) + C(flow after S - s, s)

Cost: O(2^(m-1) m) for a chain and O(2^(m-1) m^2) for a plan, in arrays over the sets of one size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.joins.plan import JoinExecutionPlan, Sep, plan_cost
from weir_placement.joins.sharing import shared_cost
from weir_placement.joins.streams import MultiwayJoin, source, step_cost
from weir_placement.joins.subsets import carried_by_set


@dataclass(frozen=True)
class Priced:
    """A plan with both of its costs [s/s].

    Attributes:
        plan: the chains.
        cost: equations 1 to 3, each chain paying for its own ships and updates.
        shared: the same where equal ships and updates of several chains are paid once (Definition 2 is a
            union).
    """

    plan: JoinExecutionPlan
    cost: float
    shared: float


def priced(join: MultiwayJoin, plan: JoinExecutionPlan) -> Priced:
    """Both costs of a plan."""
    return Priced(plan, plan_cost(join, plan), shared_cost(join, plan))


def nos_optimal(join: MultiwayJoin) -> Priced:
    """The plan with the least cost by equations 1 to 3; among equal orders, any."""
    plan = tuple(optimal_sep(join, head) for head in range(join.width))
    return priced(join, plan)


def optimal_sep(join: MultiwayJoin, head: int) -> Sep:
    """The cheapest chain of one head stream. O(2^(m-1) m)."""
    others = [stream for stream in range(join.width) if stream != head]
    carried = carried_by_set(join, head)
    best = np.full(1 << len(others), np.inf)
    best[0] = 0.0
    last = np.zeros(1 << len(others), dtype=np.int64)
    for sets, joined in _layers(len(others)):
        before = sets[:, None] ^ (1 << joined)
        candidates = best[before] + _costs(join, others, carried, before, joined)
        choice = candidates.argmin(axis=1)
        rows = np.arange(len(sets))
        best[sets] = candidates[rows, choice]
        last[sets] = joined[rows, choice]
    order: list[int] = []
    left = len(best) - 1
    while left:
        order.insert(0, others[last[left]])
        left ^= 1 << int(last[left])
    return with_bits(join, head, tuple(order))


def with_bits(join: MultiwayJoin, head: int, order: tuple[int, ...]) -> Sep:
    """The chain of an order, each step placed by equation 3."""
    flow = source(join.streams[head])
    bits = []
    for stream in order:
        bits.append(step_cost(flow, join.streams[stream], join.costs).bit)
        flow = flow.joined(join.streams[stream])
    return Sep(head, order, tuple(bits))


def _costs(
    join: MultiwayJoin, others: list[int], carried: tuple[Floats, Floats], before: Ints, joined: Ints
) -> Floats:
    """Equation 3 for the steps `joined` after the sets `before`, both of shape (sets, members)."""
    streams = [join.streams[stream] for stream in others]
    rate = np.array([s.rate for s in streams])[joined]
    size = np.array([s.size for s in streams])[joined]
    window = np.array([s.window for s in streams])[joined]
    flow_rate, flow_size = carried[0][before], carried[1][before]
    costs = join.costs
    shipped = np.minimum(rate * size, flow_rate * flow_size) / costs.bandwidth
    return np.asarray(costs.latency + shipped + rate * costs.update + flow_rate * costs.probe * window)


@lru_cache(maxsize=16)
def _layers(count: int) -> list[tuple[Ints, Ints]]:
    """For each size: the sets of that size, shape (sets,), and their members, shape (sets, size)."""
    layers = []
    every = np.arange(1 << count)
    members = (every[:, None] >> np.arange(count)) & 1
    for size in range(1, count + 1):
        sets = every[members.sum(axis=1) == size]
        layers.append((sets, np.nonzero(members[sets])[1].reshape(len(sets), size)))
    return layers
