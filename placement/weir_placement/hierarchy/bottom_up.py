"""`bottom-up` and `net-present-cost` ([1]_, section 3.3 and the hybrid): from the sink's cluster upwards.

At each level the cluster over the sink joins what is available below it and passes the rest up.
The net present cost planner weighs, before each such join, the cost of fixing it here against the
expected cost of deciding one level up, and draws with the odds of the two.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from weir_placement.hierarchy.advertisements import Views, advertised
from weir_placement.hierarchy.partition import Hierarchy, NodeCluster
from weir_placement.hierarchy.top_down import Descent, stitch
from weir_placement.network.dynamic_program import Ints, Step
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import latencies, sinks_of

Decide = Callable[[NodeCluster, int, int, list[int]], bool]
"""(cluster, level, stream to join here, streams it is joined from) -> whether to fix it here."""


def source_sets(space: PlanSpace) -> list[int]:
    """For each stream, a bit mask of the sources under it."""
    masks: list[int] = []
    for stream in range(space.ways.streams):
        if stream in space.aliases:
            masks.append(1 << list(space.aliases).index(stream))
        else:
            inputs = space.ways.inputs_of(int(space.ways.start[stream]))
            masks.append(int(np.bitwise_or.reduce([masks[i] for i in inputs])))
    return masks


def bottom_up(
    ledger: Ledger, space: PlanSpace, hierarchy: Hierarchy, decide: Decide | None = None
) -> tuple[Step | None, float]:
    """A plan tree over nodes and the plans that were examined."""
    descent = Descent(Views(ledger, space, hierarchy))
    sinks = [int(s) for s in sinks_of(ledger.problem, space)]
    start = sinks[0] if sinks else hierarchy.top.coordinator
    masks = source_sets(space)
    at: dict[int, tuple[int, ...]] = advertised(ledger, space)
    steps: dict[int, Step] = {}
    target = space.ways.streams - 1
    for level in range(len(hierarchy.levels)):
        cluster = hierarchy.of[level][hierarchy.representative(start, level)]
        near = {
            s: tuple(n for n in nodes if _inside(hierarchy, cluster, level, n)) for s, nodes in at.items()
        }
        near = {s: nodes for s, nodes in near.items() if nodes}
        for stream in list(_joinable(space, masks, near, target)):
            last = stream == target
            if not last and decide is not None and not decide(cluster, level, stream, sorted(near)):
                continue
            planned = descent.part(cluster, level, near, stream, sinks)
            if planned is None:
                continue
            steps[stream] = stitch(planned, steps)
            if last:
                return steps[stream], descent.plans
            for used in [s for s in near if masks[s] & masks[stream]]:
                del near[used]
            at = {s: n for s, n in at.items() if not masks[s] & masks[stream]}
            at[stream] = (planned.node,)
    return None, descent.plans


def _inside(hierarchy: Hierarchy, cluster: NodeCluster, level: int, node: int) -> bool:
    return hierarchy.of[level].get(hierarchy.representative(node, level)) is cluster


def _joinable(
    space: PlanSpace, masks: list[int], near: dict[int, tuple[int, ...]], target: int
) -> Iterator[int]:
    """Streams to make from what is near: the most sources first, each source in one; the target
    alone when everything is near."""
    have = 0
    possible = [False] * space.ways.streams
    for stream in range(space.ways.streams):
        ways = range(int(space.ways.start[stream]), int(space.ways.start[stream + 1]))
        possible[stream] = stream in near or any(
            all(possible[i] for i in space.ways.inputs_of(w)) for w in ways
        )
    if possible[target]:
        yield target
        return
    for stream in sorted(range(space.ways.streams), key=lambda s: (-masks[s].bit_count(), -s)):
        if possible[stream] and not masks[stream] & have:
            have |= masks[stream]
            if stream not in near:
                yield stream


@dataclass
class NetPresentCost:
    """The odds at each level, and what was drawn: `draws` are shown with the plan."""

    ledger: Ledger
    space: PlanSpace
    hierarchy: Hierarchy
    random: Random
    draws: list[dict[str, Any]]

    def __call__(self, cluster: NodeCluster, level: int, stream: int, near: list[int]) -> bool:
        """Whether to fix the join order of `stream` here.

        Here: what the members pay to join (rates x the mean cost inside this cluster), then the joined
        rate x the mean cost inside the next cluster up. Later: the rates of all inputs x that cost,
        less nothing, for the order is still open. The odds of fixing are later / (here + later).
        """
        if level + 1 == len(self.hierarchy.levels):
            return True
        rates = self.space.ways.bytes_per_second
        masks = source_sets(self.space)
        inputs = sum(float(rates[s]) for s in near if not masks[s] & ~masks[stream])
        above = self.hierarchy.of[level + 1][cluster.coordinator]
        inside, next_up = self._mean(cluster), self._mean(above)
        here = inputs * inside + float(rates[stream]) * next_up
        later = inputs * next_up
        odds = later / (here + later) if here + later > 0 else 1.0
        fixed = self.random.random() < odds
        self.draws.append(
            {
                "query": self.space.query.name,
                "level": level + 1,
                "sources": masks[stream].bit_count(),
                "costHere": here,
                "costLater": later,
                "probability": odds,
                "fixed": fixed,
            }
        )
        return fixed

    def _mean(self, cluster: NodeCluster) -> float:
        members: Ints = np.array(cluster.members)
        count = len(members)
        return float(latencies(self.ledger.problem, members).sum() / max(count * (count - 1), 1))
