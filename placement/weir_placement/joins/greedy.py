"""`nos_greedy`: the basic plan generation of NOS, Algorithm 1."""

from __future__ import annotations

from weir_placement.joins.plan import JoinExecutionPlan, Sep
from weir_placement.joins.streams import MultiwayJoin, source, step_cost


def greedy_sep(join: MultiwayJoin, head: int) -> Sep:
    """One chain: next is the stream with the least cost by equation 3, then the lowest index. O(m^2)."""
    flow = source(join.streams[head])
    left = set(range(join.width)) - {head}
    order, bits = [], []
    while left:
        steps = [(step_cost(flow, join.streams[stream], join.costs), stream) for stream in left]
        (_, bit), cheapest = min(steps, key=lambda step: (step[0].cost, step[1]))
        order.append(cheapest)
        bits.append(bit)
        left.remove(cheapest)
        flow = flow.joined(join.streams[cheapest])
    return Sep(head, tuple(order), tuple(bits))


def nos_greedy(join: MultiwayJoin) -> JoinExecutionPlan:
    """Algorithm 1 for every head stream; invariant (4) holds for the result. O(m^3) step costs."""
    return tuple(greedy_sep(join, head) for head in range(join.width))
