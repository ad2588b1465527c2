"""The costliest path from a source to the sink ([1]_, section 4.4).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from weir_placement.cost.flows import hops, output
from weir_placement.model.cluster import REFERENCE_CORE
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem


def longest_path(problem: Problem, plan: QueryPlan) -> float:
    """[s]: operators at one core of their node (c / (1e6 speed)), links, and the exchange's time a hop."""
    cluster = problem.cluster
    arrival: dict[str, float] = dict.fromkeys(plan.query.sources, 0.0)
    incoming: dict[str, list[float]] = {}
    by_consumer: dict[str, list[tuple[str, float]]] = {}
    for hop in hops(plan):
        delay = cluster.network.link_latency(cluster.index[hop.source], cluster.index[hop.target])
        delay += problem.overheads.exchange_latency if hop.exchange else 0.0
        by_consumer.setdefault(hop.consumer, []).append((hop.producer, delay))
    for op in plan.query.operators:
        incoming[op.id] = [arrival[producer] + delay for producer, delay in by_consumer[op.id]]
        node = cluster.nodes[cluster.index[plan.nodes[op.id]]]
        arrival[op.id] = max(incoming[op.id]) + op.cost / (REFERENCE_CORE * node.speed)
    return arrival[output(plan.query)] + sum(delay for _, delay in by_consumer.get("", []))
