"""Nodes and the network between them (model.md section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

REFERENCE_CORE = 1e6
"""CPU-microseconds that one core of speed 1 offers in a second."""


@dataclass(frozen=True)
class Node:
    """One machine. `cpu` [cores] and `memory` [bytes] are what a plan may use: what the node
    allocates, less other pods' requests, less the policy's reserve."""

    name: str
    cpu: float
    memory: float = inf
    egress: float = inf  # [bytes/s]
    ingress: float = inf  # [bytes/s]
    speed: float = 1.0  # a reference core is 1
    zone: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    schedulable: bool = True  # false: cordoned, not ready or tainted; may keep what it runs, gets nothing new

    @property
    def cpu_capacity(self) -> float:
        """[CPU-us/s]: `N.I` of WhiteWater."""
        return self.cpu * REFERENCE_CORE * self.speed


@dataclass(frozen=True)
class Network:
    """Latency and bandwidth between groups of nodes: zones, or single nodes when they are measured.

    Attributes:
        group: shape (N,), the group of each node.
        latency: shape (G, G) [s], row = from; the diagonal is between two nodes of one group.
        bandwidth: shape (G, G) [bytes/s], infinite unless given; per pair of nodes.
    """

    group: NDArray[np.intp]
    latency: NDArray[np.float64]
    bandwidth: NDArray[np.float64]

    @staticmethod
    def uniform(nodes: int, latency: float = 0.0, bandwidth: float = inf) -> Network:
        """One latency [s] and one bandwidth [bytes/s] between any two of `nodes` nodes."""
        return Network(np.zeros(nodes, dtype=np.intp), np.full((1, 1), latency), np.full((1, 1), bandwidth))

    @staticmethod
    def of_matrix(latency: NDArray[np.float64], bandwidth: NDArray[np.float64] | float = inf) -> Network:
        """Node-to-node latency [s] of shape (N, N), every node a group of its own."""
        n = len(latency)
        return Network(
            np.arange(n), np.asarray(latency, float), np.broadcast_to(np.asarray(bandwidth, float), (n, n))
        )

    def link_latency(self, source: int, target: int) -> float:
        """[s]; 0 on one node."""
        if source == target:
            return 0.0
        return float(self.latency[self.group[source], self.group[target]])

    def link_bandwidth(self, source: int, target: int) -> float:
        """[bytes/s]; infinite on one node."""
        if source == target:
            return inf
        return float(self.bandwidth[self.group[source], self.group[target]])

    @cached_property
    def latency_matrix(self) -> NDArray[np.float64]:
        """Shape (N, N) [s]: memory grows with N squared, so only below some thousand nodes."""
        matrix = self.latency[np.ix_(self.group, self.group)].astype(float)
        np.fill_diagonal(matrix, 0.0)
        return matrix

    @cached_property
    def bandwidth_matrix(self) -> NDArray[np.float64]:
        """Shape (N, N) [bytes/s]; infinite on the diagonal."""
        matrix = self.bandwidth[np.ix_(self.group, self.group)].astype(float)
        np.fill_diagonal(matrix, inf)
        return matrix


@dataclass(frozen=True)
class Cluster:
    """Nodes in a fixed order and the network between them."""

    nodes: tuple[Node, ...]
    network: Network

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each node by name."""
        return {node.name: i for i, node in enumerate(self.nodes)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Node names in order."""
        return tuple(node.name for node in self.nodes)

    @cached_property
    def closed(self) -> bool:
        """Some node takes no new work."""
        return not all(node.schedulable for node in self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)
