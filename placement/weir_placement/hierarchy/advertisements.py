"""Stream advertisements: what each cluster knows of the streams and free capacity below its members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from weir_placement.array_types import Floats
from weir_placement.hierarchy.partition import Hierarchy, NodeCluster
from weir_placement.hierarchy.view import View
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import latencies, placing, translate

Located = Mapping[int, tuple[int, ...]]
"""Stream -> the nodes where it is available."""


def advertised(ledger: Ledger, space: PlanSpace) -> dict[int, tuple[int, ...]]:
    """Where each stream of a query is: sources where they enter, derived streams where they run."""
    index, streams = ledger.problem.cluster.index, ledger.problem.streams
    nodes_of: dict[int, tuple[int, ...]] = {}
    for stream, alias in space.aliases.items():
        origins = streams[space.query.sources[alias]].origins
        nodes_of[stream] = tuple(index[o] for o in origins if o in index)
    for stream, signature in enumerate(space.signatures):
        running = ledger.advertised.get(signature, {})
        nodes = tuple(sorted(n for n, d in running.items() if translate(space, stream, d) is not None))
        if nodes and stream not in space.aliases:
            nodes_of[stream] = nodes
    return nodes_of


@dataclass
class Views:
    """Makes the views of one planning round: `fits[level]` is, for each member, where ways fit below it."""

    ledger: Ledger
    space: PlanSpace
    hierarchy: Hierarchy

    def __post_init__(self) -> None:
        self._fits: list[dict[int, Floats]] = []

    def member(self, cluster: NodeCluster, level: int, node: int) -> int:
        """The member of a cluster that stands for a node; the coordinator for a node outside, through
        which what comes from outside enters and what is wanted outside leaves."""
        stands = self.hierarchy.representative(node, level)
        return stands if self.hierarchy.of[level].get(stands) is cluster else cluster.coordinator

    def view(
        self, cluster: NodeCluster, level: int, entries: Located, target: int, exits: Iterable[int]
    ) -> tuple[View, dict[tuple[int, int], int]]:
        """A cluster's view, and which node each (stream, member position) stands for."""
        members = np.array(cluster.members)
        position = {n: i for i, n in enumerate(cluster.members)}
        present = np.full((self.space.ways.streams, len(members)), np.inf)
        stands: dict[tuple[int, int], int] = {}
        for stream, nodes in entries.items():
            for node in nodes:
                at = position[self.member(cluster, level, node)]
                present[stream, at] = 0.0
                stands.setdefault((stream, at), node)
        leave = sorted({position[self.member(cluster, level, n)] for n in exits})
        place = self._placing(cluster, level)
        matrix = latencies(self.ledger.problem, members)
        return View(self.space.ways, matrix, present, place, target, np.array(leave, np.int64)), stands

    def _placing(self, cluster: NodeCluster, level: int) -> Floats:
        """Shape (W, C): a way fits a member when it fits some node below it, as advertised upwards."""
        if level == 0:
            return placing(self.ledger, self.space, np.array(cluster.members))
        return np.stack([self.fitting(level - 1, m) for m in cluster.members], axis=1)

    def fitting(self, level: int, coordinator: int) -> Floats:
        """Shape (W,): 0 for ways that fit some node in the cluster that a coordinator stands for."""
        while len(self._fits) <= level:
            self._fits.append({})
        if coordinator not in self._fits[level]:
            cluster = self.hierarchy.of[level][coordinator]
            self._fits[level][coordinator] = self._placing(cluster, level).min(axis=1)
        return self._fits[level][coordinator]
