"""What a plan costs when chains share ships and updates (NOS, Definition 2: a node's set is a union).

Of two chains that both ship a source stream to the same node, or both keep its window there, the work is done
once: the operators are equal. Equations 1 and 2 charge each chain in full. Flows S^i_k and probes belong to
one chain and are never shared.
"""

from __future__ import annotations

from weir_placement.joins.plan import JoinExecutionPlan, flows
from weir_placement.joins.streams import MultiwayJoin


def shared_cost(join: MultiwayJoin, plan: JoinExecutionPlan) -> float:
    """[s/s] of all chains, with each ship and each update of a source stream at a node paid once. O(m^2)."""
    costs = join.costs
    own = 0.0
    ships: set[tuple[int, int]] = set()
    windows: set[tuple[int, int]] = set()
    for sep in plan:
        holder = sep.head
        for position, (flow, stream, bit) in enumerate(
            zip(flows(join, sep), sep.order, sep.bits, strict=False)
        ):
            own += flow.rate * costs.probe * join.streams[stream].window
            if not bit:
                ships.add((stream, holder))
            else:
                holder = stream
                if position == 0:
                    ships.add((sep.head, stream))
                else:
                    own += costs.shipping(flow.rate, flow.size)
            windows.add((stream, holder))
    shipped = sum(costs.shipping(join.streams[s].rate, join.streams[s].size) for s, _ in ships)
    return own + shipped + sum(join.streams[s].rate * costs.update for s, _ in windows)
