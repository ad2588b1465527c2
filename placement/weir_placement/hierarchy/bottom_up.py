"""`bottom-up` and `net-present-cost` ([1]_, section 3.3 and the hybrid): from the sink's cluster upwards.

At each level the cluster over the sink joins what is available below it and passes the rest up.
The net present cost planner weighs, before each such join, the cost of fixing it here against that of
deciding one level up, and draws with the odds of the two.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from weir_placement.hierarchy.advertisements import Located, Views, advertised
from weir_placement.hierarchy.partition import Hierarchy, NodeCluster
from weir_placement.hierarchy.top_down import Descent, stitch
from weir_placement.hierarchy.view import plan_view
from weir_placement.network.dynamic_program import Step
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import sinks_of

SHARPNESS = 8
"""Power of the ratio of costs in the odds: a tenth cheaper is chosen in two of three draws."""


@dataclass(frozen=True)
class At:
    """Where the streams of a query are: all of them, and those in the cluster. `sinks` are nodes, `masks`
    the `source_sets`."""

    all: Located
    near: Located
    sinks: Sequence[int]
    masks: Sequence[int]


Decide = Callable[[Views, NodeCluster, int, int, At], bool]
"""(views, cluster, level, stream to join here, where its inputs are) -> whether to fix it here."""


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
) -> Step | None:
    """A plan tree over nodes."""
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
            places = At(at, near, sinks, masks)
            if not last and decide and not decide(descent.views, cluster, level, stream, places):
                continue
            planned = descent.part(cluster, level, near, stream, sinks)
            if planned is None:
                continue
            steps[stream] = stitch(planned, steps)
            if last:
                return steps[stream]
            for used in [s for s in near if masks[s] & masks[stream]]:
                del near[used]
            at = {s: n for s, n in at.items() if not masks[s] & masks[stream]}
            at[stream] = (planned.node,)
    return None


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
    """Whether to fix a join here or to leave it to the next level, by the odds of what the query would cost
    then; `draws` are shown with the plan.

    The paper names the idea ("cost estimates of choosing a join order locally or delaying the decision to the
    next level", "probabilistic"); the estimates and the odds are ours. Both estimates are of the whole query,
    in bytes, and made of views alone: inside this cluster, and of the rest by the cluster one level up.
    """

    random: Random
    draws: list[dict[str, Any]]

    def __call__(self, views: Views, cluster: NodeCluster, level: int, stream: int, at: At) -> bool:
        """Here: the join's plan inside this cluster, then the rest from its coordinator. Later: everything
        one level up, after the inputs have come to the coordinator, or the join's plan here where that is
        less. The odds of fixing are later^8 / (here^8 + later^8)."""
        if level + 1 == len(views.hierarchy.levels):
            return True
        inside = _estimate(views, cluster, level, at.near, stream, (cluster.coordinator,))
        masks = at.masks
        below = {s: n for s, n in at.near.items() if masks[s] & masks[stream]}
        alone = sum(self._moved(views, cluster, level, s, n) for s, n in below.items())
        rest = {s: n for s, n in at.all.items() if not masks[s] & masks[stream]}
        above = views.hierarchy.of[level + 1][cluster.coordinator]
        target = views.space.ways.streams - 1
        fixed = {**rest, stream: (cluster.coordinator,)}
        here = inside + _estimate(views, above, level + 1, fixed, target, at.sinks)
        later = min(inside, alone) + _estimate(views, above, level + 1, at.all, target, at.sinks)
        odds = 1.0 / (1.0 + (here / later) ** SHARPNESS) if later > 0 else 0.5
        chosen = self.random.random() < odds
        self.draws.append(
            {
                "query": views.space.query.name,
                "level": level + 1,
                "sources": masks[stream].bit_count(),
                "costHere": here,
                "costLater": later,
                "probability": odds,
                "fixed": chosen,
            }
        )
        return chosen

    def _moved(
        self, views: Views, cluster: NodeCluster, level: int, stream: int, nodes: tuple[int, ...]
    ) -> float:
        """[bytes]: a stream on its way to the coordinator, unjoined."""
        return _estimate(views, cluster, level, {stream: nodes}, stream, (cluster.coordinator,))


def _estimate(
    views: Views,
    cluster: NodeCluster,
    level: int,
    entries: Located,
    target: int,
    exits: Sequence[int],
) -> float:
    """[bytes]: what a cluster's view says; infinite when it has no plan."""
    planned = plan_view(views.view(cluster, level, entries, target, exits)[0])
    return planned.cost if planned else np.inf
