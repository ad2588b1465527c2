"""`top-down` ([1]_, section 3.2): the root plans over its members, each member plans its part below.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weir_placement.hierarchy.advertisements import Located, Views, advertised
from weir_placement.hierarchy.partition import Hierarchy, NodeCluster
from weir_placement.hierarchy.view import plan_view
from weir_placement.network.dynamic_program import Step
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import sinks_of


@dataclass
class Descent:
    """Plans parts of one query from a level down to the nodes."""

    views: Views
    trace: list[str] = field(default_factory=list)

    def part(
        self, cluster: NodeCluster, level: int, entries: Located, target: int, exits: Sequence[int]
    ) -> Step | None:
        """Plans `target` from streams at `entries` within a cluster, for `exits`: a tree over nodes,
        whose leaves are the entries."""
        view, stands = self.views.view(cluster, level, entries, target, exits)
        planned = plan_view(view)
        if planned is None:
            return None
        return self._below(cluster, level, planned.root, stands, exits)

    def _below(
        self,
        cluster: NodeCluster,
        level: int,
        step: Step,
        stands: dict[tuple[int, int], int],
        exits: Sequence[int],
    ) -> Step | None:
        """The tree over members as one over nodes: each member plans what it was given (its view of
        the query) in the cluster below; what it needs from others is planned first."""
        if step.way < 0:
            return Step(step.stream, stands[step.stream, step.node], -1)
        member = cluster.members[step.node]
        below_by_stream: dict[int, Step] = {}
        for boundary in _boundary(step):
            # a stream for another member leaves a member's cluster through its coordinator
            needed = self._below(cluster, level, boundary, stands, (member,))
            if needed is None:
                return None
            below_by_stream[boundary.stream] = needed
        if level == 0:
            return _on_members(step, cluster, below_by_stream)
        entries = {stream: (below.node,) for stream, below in below_by_stream.items()}
        below = self.views.hierarchy.of[level - 1][member]
        planned = self.part(below, level - 1, entries, step.stream, exits)
        return None if planned is None else stitch(planned, below_by_stream)


def _boundary(step: Step) -> list[Step]:
    """The inputs of the part of a tree that is on the root's member."""
    parts: list[Step] = []
    for below in step.inputs:
        if below.way >= 0 and below.node == step.node:
            parts += _boundary(below)
        else:
            parts.append(below)
    return parts


def _on_members(step: Step, cluster: NodeCluster, steps: dict[int, Step]) -> Step:
    inputs = tuple(
        _on_members(i, cluster, steps) if i.way >= 0 and i.node == step.node else steps[i.stream]
        for i in step.inputs
    )
    return Step(step.stream, cluster.members[step.node], step.way, inputs)


def stitch(step: Step, steps: dict[int, Step]) -> Step:
    """A tree with its leaves replaced by what they stand for."""
    if step.way < 0:
        return steps.get(step.stream, step)
    return Step(step.stream, step.node, step.way, tuple(stitch(i, steps) for i in step.inputs))


def top_down(ledger: Ledger, space: PlanSpace, hierarchy: Hierarchy) -> Step | None:
    """A plan tree over nodes (reused streams as leaves)."""
    descent = Descent(Views(ledger, space, hierarchy))
    sinks = [int(s) for s in sinks_of(ledger.problem, space)]
    level = len(hierarchy.levels) - 1
    return descent.part(hierarchy.top, level, advertised(ledger, space), space.ways.streams - 1, sinks)
