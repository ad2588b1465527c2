"""The hierarchy of clusters ([1]_, section 3.1.1), changed in place as nodes come and go.

Level 0 holds clusters of physical nodes (the paper's level 1); each cluster's coordinator is a
member of a cluster one level up, until a single cluster is left. Theorem 1: with `d_i` the largest
traversal cost inside a cluster of level i, the cost between the coordinators that stand for two
nodes at level l differs from the real one by at most `2 sum of d_i, i < l`, in a metric
(`splitting.closure` makes one).

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weir_placement.array_types import Ints
from weir_placement.model.cluster import Cluster, Network
from weir_placement.network.splitting import medoid, split, traversal


@dataclass
class NodeCluster:
    """At most `maxcs` members, one of which coordinates; over level 0 they are coordinators."""

    members: list[int]
    coordinator: int


@dataclass
class Hierarchy:
    """Levels of clusters; `of[level]` finds a member's cluster by its node index."""

    network: Network
    maxcs: int
    levels: list[list[NodeCluster]] = field(default_factory=list)
    of: list[dict[int, NodeCluster]] = field(default_factory=list)

    @property
    def top(self) -> NodeCluster:
        """The single cluster of the highest level."""
        return self.levels[-1][0]

    def representative(self, node: int, level: int) -> int:
        """The member of a cluster of `level` that stands for a node: itself at level 0."""
        for below in range(level):
            node = self.of[below][node].coordinator
        return node

    def path(self, node: int) -> list[int]:
        """A node and the coordinators over it, from the bottom up, each once."""
        path = [node]
        for level in range(len(self.levels)):
            node = self.of[level][node].coordinator
            if node != path[-1]:
                path.append(node)
        return path

    def estimate(self, a: int, b: int, level: int) -> float:
        """`c_est` of Theorem 1 [s]: the traversal cost between what stands for two nodes."""
        at = np.array([self.representative(a, level)]), np.array([self.representative(b, level)])
        return float(traversal(self.network, *at)[0, 0])

    def widest(self, level: int) -> float:
        """`d_i` [s]: the largest traversal cost inside a cluster of the level."""
        sets = (np.array(c.members) for c in self.levels[level])
        return max(float(traversal(self.network, members, members).max()) for members in sets)

    def join(self, node: int) -> None:
        """Adds a node to the cluster of the nearest coordinator, going down from the top; a cluster
        that is full splits. O(levels x maxcs^2)."""
        cluster = self.top
        for level in range(len(self.levels) - 1, 0, -1):
            members = np.array(cluster.members)
            near = int(members[np.argmin(traversal(self.network, np.array([node]), members)[0])])
            cluster = self._coordinated(near, level - 1)
        self._insert(node, cluster, 0)

    def leave(self, node: int) -> None:
        """Removes a node; where it coordinated, another member takes its place. O(levels x maxcs^2)."""
        self._drop(node, self.of[0][node], 0)
        while len(self.levels) > 1 and len(self.levels[-2]) == 1:
            self.levels.pop()
            self.of.pop()

    def change(self, network: Network, node: int) -> None:
        """The latencies of a node have changed: it moves to where it is near now."""
        self.network = network
        self.leave(node)
        self.join(node)

    def _coordinated(self, node: int, level: int) -> NodeCluster:
        """The cluster of `level` that a member of the level above coordinates: it is its member too."""
        return self.of[level][node]

    def _insert(self, node: int, cluster: NodeCluster, level: int) -> None:
        cluster.members = sorted([*cluster.members, node])
        self.of[level][node] = cluster
        if len(cluster.members) <= self.maxcs:
            self._elect(cluster, level)
            return
        parts = split(self.network, np.array(cluster.members), -(-len(cluster.members) // 2))
        keep = next(p for p in parts if cluster.coordinator in p)
        other = np.setdiff1d(np.array(cluster.members), keep)
        cluster.members = [int(n) for n in keep]
        fresh = NodeCluster([int(n) for n in other], medoid(self.network, other))
        self.levels[level].append(fresh)
        self.of[level].update(dict.fromkeys(fresh.members, fresh))
        self._elect(cluster, level)
        if level + 1 == len(self.levels):
            root = NodeCluster(sorted([cluster.coordinator, fresh.coordinator]), cluster.coordinator)
            self.levels.append([root])
            self.of.append(dict.fromkeys(root.members, root))
        else:
            self._insert(fresh.coordinator, self.of[level + 1][cluster.coordinator], level + 1)

    def _drop(self, node: int, cluster: NodeCluster, level: int) -> None:
        cluster.members.remove(node)
        del self.of[level][node]
        if cluster.members:
            if cluster.coordinator == node:
                self._replace(cluster, level, medoid(self.network, np.array(cluster.members)))
            return
        if len(self.levels[level]) == 1:
            raise ValueError("the last node of a hierarchy cannot leave")
        self.levels[level].remove(cluster)
        self._drop(node, self.of[level + 1][node], level + 1)

    def _elect(self, cluster: NodeCluster, level: int) -> None:
        chosen = medoid(self.network, np.array(cluster.members))
        if chosen != cluster.coordinator:
            self._replace(cluster, level, chosen)

    def _replace(self, cluster: NodeCluster, level: int, chosen: int) -> None:
        """A cluster's new coordinator takes the old one's place at every level over it."""
        old, cluster.coordinator = cluster.coordinator, chosen
        if level + 1 == len(self.levels):
            return
        above = self.of[level + 1].pop(old)
        above.members = sorted([*(m for m in above.members if m != old), chosen])
        self.of[level + 1][chosen] = above
        if above.coordinator == old:
            self._replace(above, level + 1, chosen)


def partition(network: Network, nodes: Ints, maxcs: int) -> Hierarchy:
    """Builds the hierarchy over `nodes`, clusters of at most `maxcs` (at least 2) by traversal cost.

    >>> line = Network.of_matrix(np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0))))
    >>> [[c.members for c in level] for level in partition(line, np.arange(8), 4).levels]
    [[[4, 5, 6, 7], [0, 1, 2, 3]], [[1, 5]]]
    """
    if maxcs < 2:
        raise ValueError(f"maxClusterSize is {maxcs}: a cluster must hold at least 2 nodes")
    hierarchy = Hierarchy(network, maxcs)
    members = np.asarray(nodes, np.int64)
    while True:
        parts = split(network, members, maxcs)
        clusters = [NodeCluster([int(n) for n in p], medoid(network, p)) for p in parts]
        hierarchy.levels.append(clusters)
        hierarchy.of.append({n: c for c in clusters for n in c.members})
        if len(clusters) == 1:
            return hierarchy
        members = np.array(sorted(c.coordinator for c in clusters))


def tiers(machines: Cluster, label: str, maxcs: int) -> Hierarchy:
    """A hierarchy whose lowest clusters never cross the values of a node label (D-CAPE's tiers: zones or
    whole Kubernetes clusters); larger groups are split, and the levels above cluster as usual.

    Raises:
        ValueError: a node without the label.
    """
    groups: dict[str, list[int]] = {}
    for i, node in enumerate(machines.nodes):
        if label not in node.labels:
            raise ValueError(f"node {node.name} has no label {label}, which is the hierarchy's tierLabel")
        groups.setdefault(node.labels[label], []).append(i)
    network = machines.network
    parts = [p for name in sorted(groups) for p in split(network, np.array(groups[name]), maxcs)]
    clusters = [NodeCluster([int(n) for n in p], medoid(network, p)) for p in parts]
    if len(clusters) == 1:
        return partition(network, np.arange(len(machines)), maxcs)
    above = partition(network, np.array(sorted(c.coordinator for c in clusters)), maxcs)
    above.levels.insert(0, clusters)
    above.of.insert(0, {n: c for c in clusters for n in c.members})
    return above


def hierarchy_of(machines: Cluster, label: str, maxcs: int) -> Hierarchy:
    """By label when one is given, else by traversal cost."""
    if label:
        return tiers(machines, label, maxcs)
    return partition(machines.network, np.arange(len(machines)), maxcs)


def cluster_sizes(nodes: int, maxcs: int) -> list[int]:
    """Sizes of clusters among which a plan is chosen by its cost: 4, 8, 16, ... up to `maxcs`, which is a cap
    and no quota. One cluster of all nodes has no estimates in it, so nothing else is tried where it may be.

    The sizes of a smaller cap are among those of a larger one, so no query alone gets a worse plan by it.
    A cap that `partition` refuses comes back as it is.

    >>> cluster_sizes(64, 24), cluster_sizes(64, 64), cluster_sizes(64, 3)
    ([4, 8, 16], [64], [2])
    """
    if 2 <= nodes <= maxcs:
        return [nodes]
    return [size for k in range(2, 14) if (size := 2**k) <= maxcs] or [min(maxcs, 2)]
