"""Families of nodes for the upper bound: what must run on them cannot be more than they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from weir_placement.model.cluster import Cluster

MOST_CAPACITIES = 12
MOST_CANDIDATE_SETS = 12
PARTS = (1, 2, 3)
ROUNDING = 1e-12


@dataclass(frozen=True)
class Family:
    """`capacity` is in CPU-us/s for operators with no room outside of `nodes`; with a `threshold` >= 0
    it is the number of operators larger than it that fit on all nodes."""

    nodes: frozenset[int]
    capacity: float
    threshold: float = -1.0


def families_of(cluster: Cluster, candidates: Sequence[Sequence[int]]) -> list[Family]:
    """All nodes, the largest ones, candidate sets of operators, and counts above thresholds."""
    capacity = [node.cpu_capacity for node in cluster.nodes]
    levels = sorted(set(capacity), reverse=True)
    if len(levels) > MOST_CAPACITIES:
        step = len(levels) / MOST_CAPACITIES
        levels = [levels[int(k * step)] for k in range(MOST_CAPACITIES)]
    sets = {frozenset(range(len(capacity))): 0, frozenset[int](): 1}
    for level in levels:
        sets.setdefault(frozenset(n for n, c in enumerate(capacity) if c >= level), 2)
    for nodes in sorted({tuple(c) for c in candidates if c})[:MOST_CANDIDATE_SETS]:
        sets.setdefault(frozenset(nodes), 3)
    families = [Family(nodes, (1 + ROUNDING) * sum(capacity[n] for n in nodes)) for nodes in sets]
    everywhere = next(iter(sets))
    for threshold in sorted({level / part for level in levels for part in PARTS}, reverse=True):
        fitting = sum(max(0, ceil(c / threshold * (1 - ROUNDING)) - 1) for c in capacity) if threshold else 0
        families.append(Family(everywhere, float(fitting), threshold * (1 + ROUNDING)))
    return families
