"""The costliest path from a source to the sink ([1]_, section 4.4), with what queues on the way.

Who shares a processor waits for each other: work of s seconds takes s / (1 - u) on a node of which a share u
is used (M/G/1 with processor sharing, whatever the distribution of s: [2]_, section 4.4; on a node of several
cores it takes no longer than that). A batch is such work, so a hop between fragments, or from a source into
one, grows alike: with batches that begin when the last one ends, one of b seconds without rows takes
b / (1 - u), and a row waits in proportion ([3]_). A row of m bytes passes a link of B bytes/s that carries L
in m / (B - L) (M/M/1).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
.. [2] Leonard Kleinrock, "Queueing Systems, volume II: Computer Applications", 1976.
.. [3] Tathagata Das, Yuan Zhong, Ion Stoica, Scott Shenker, "Adaptive Stream Processing using Dynamic Batch
       Sizing", 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from weir_placement.cost.flows import Hop, flows_of, hops, output, scaled
from weir_placement.cost.node_loads import NodeLoads, PointLoads
from weir_placement.model.cluster import REFERENCE_CORE, Node
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Problem

TOLERANCE = 1e-9
"""Relative: a limit that is exceeded by no more is kept."""
FINE = 1e-13
"""Relative: how closely a root is found."""
FAR = 1e30
"""An x beyond which a path is taken to have no limit."""


def longest_path(problem: Problem, plan: QueryPlan) -> float:
    """[s] where nothing waits: the least that any load leaves."""
    return Delay(problem, plan, PointLoads({}, {}, {}))(0.0)


@dataclass(frozen=True)
class Delay:
    """[s] of the costliest path of a query as a function of x, increasing; inf where something on it is full.

    `loads` are those of the whole plan at one point of the profile.
    """

    problem: Problem
    plan: QueryPlan
    loads: PointLoads

    def __call__(self, x: float) -> float:
        arrival: dict[str, float] = dict.fromkeys(self.plan.query.sources, 0.0)
        for op in self.plan.query.operators:
            node = self._node(self.plan.nodes[op.id])
            work = self._worked(op.cost / (REFERENCE_CORE * node.speed), node, x)
            incoming = self._by_consumer[op.id]
            arrival[op.id] = max(arrival[hop.producer] + self._hop(hop, x) for hop in incoming) + work
        delivery = self._by_consumer.get("", ())
        return arrival[output(self.plan.query)] + sum(self._hop(hop, x) for hop in delivery)

    def root(self, capacity: float) -> float:
        """The largest x at which the path takes at most `capacity` [s]; inf if every x, -1 if not even 0."""
        limit = capacity * (1 + TOLERANCE)
        if limit == inf:
            return inf
        if self(0.0) > limit:
            return -1.0
        low, high = 0.0, 1.0
        while self(high) <= limit:
            low, high = high, 2 * high
            if high > FAR:
                return inf
        while high > low * (1 + FINE) and high > 1 / FAR:
            middle = (low + high) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if self(middle) > limit else (middle, high)
        return low

    @cached_property
    def _by_consumer(self) -> dict[str, list[Hop]]:
        by_consumer: dict[str, list[Hop]] = {}
        for hop in hops(self.plan):
            by_consumer.setdefault(hop.consumer, []).append(hop)
        return by_consumer

    @cached_property
    def _widths(self) -> dict[str, float]:
        """[bytes] of a tuple, by source alias and operator: no rate changes them."""
        flows = flows_of(self.plan.query, self.problem.streams, scaled(self.problem.points()[0]))
        return {name: flow.width for name, flow in flows.items()}

    def _width(self, producer: str) -> float:
        flow = self.loads.operators.get((self.plan.query.name, producer))
        return self._widths[producer] if flow is None else flow.width

    def _node(self, name: str) -> Node:
        return self.problem.cluster.nodes[self.problem.cluster.index[name]]

    def _of(self, name: str) -> NodeLoads:
        return self.loads.nodes.get(name) or NodeLoads()

    def _worked(self, seconds: float, node: Node, x: float) -> float:
        """Work on a node, with its wait for what shares the processor."""
        if seconds <= 0 or node.cpu_capacity == inf:
            return seconds
        used = self._of(node.name).cpu(x)
        return seconds * node.cpu_capacity / (node.cpu_capacity - used) if used < node.cpu_capacity else inf

    def _hop(self, hop: Hop, x: float) -> float:
        """From where a stream is made to where it is read: the link, and the reading fragment's batch."""
        problem, delay = self.problem, 0.0
        if hop.source != hop.target:
            index, network = problem.cluster.index, problem.cluster.network
            ends = index[hop.source], index[hop.target]
            between = self.loads.between.get((hop.source, hop.target))
            width = self._width(hop.producer)
            delay += network.link_latency(*ends)
            delay += _sent(width, self._node(hop.source).egress, self._of(hop.source).egress(x))
            delay += _sent(width, self._node(hop.target).ingress, self._of(hop.target).ingress(x))
            delay += _sent(width, network.link_bandwidth(*ends), between(x) if between else 0.0)
        if hop.exchange or (hop.consumer and hop.producer in self.plan.query.sources):
            delay += self._worked(problem.overheads.exchange_latency, self._node(hop.target), x)
        return delay


def _sent(width: float, capacity: float, load: float) -> float:
    """[s] in which a tuple passes a limited link."""
    if capacity == inf:
        return 0.0
    return width / (capacity - load) if load < capacity else inf
