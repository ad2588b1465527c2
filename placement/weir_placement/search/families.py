"""Families of nodes for the upper bound: what must run on them cannot be more than they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir_placement.model.cluster import Cluster

MOST_CAPACITIES = 12
MOST_CANDIDATE_SETS = 12
ROUNDING = 1e-12


@dataclass(frozen=True)
class Family:
    """`capacity` [CPU-us/s] for the operators that have no room outside of `nodes`."""

    nodes: frozenset[int]
    capacity: float


def families_of(cluster: Cluster, candidates: Sequence[Sequence[int]]) -> list[Family]:
    """All nodes, none, the largest ones of each capacity, candidate sets of operators."""
    capacity = [node.cpu_capacity for node in cluster.nodes]
    levels = sorted(set(capacity), reverse=True)
    if len(levels) > MOST_CAPACITIES:
        step = len(levels) / MOST_CAPACITIES
        levels = [levels[int(k * step)] for k in range(MOST_CAPACITIES)]
    sets = [frozenset(range(len(capacity))), frozenset[int]()]
    sets += [frozenset(n for n, c in enumerate(capacity) if c >= level) for level in levels]
    sets += [frozenset(nodes) for nodes in sorted({tuple(c) for c in candidates if c})[:MOST_CANDIDATE_SETS]]
    return [Family(nodes, (1 + ROUNDING) * sum(capacity[n] for n in nodes)) for nodes in dict.fromkeys(sets)]
