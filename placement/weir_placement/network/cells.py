"""Cells: what a lower bound takes nodes together to, in a large cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.problem import Problem
from weir_placement.network.splitting import split

MOST = 1024
"""Cells at most; up to so many nodes each is a cell of its own."""

WORK = 1e9
"""Steps of the programs of all queries in a round, to which the number of cells is cut down."""


@dataclass(frozen=True)
class Cells:
    """Disjoint sets of nodes. Latencies between them are the least between their nodes, so that a plan
    over cells costs no more than the plan over nodes that it stands for.

    Attributes:
        of: shape (N,), the cell of each node.
        latency: shape (C, C) [s], zero diagonal.
        size: shape (C,), nodes in each.
    """

    problem: Problem
    of: Ints
    latency: Floats
    size: Ints

    @property
    def nodes(self) -> bool:
        """Whether every node is a cell."""
        return len(self.size) == len(self.of)

    def total(self, by_node: Floats) -> Floats:
        """Shape (C,): what the nodes of each cell have together."""
        return np.asarray(np.bincount(self.of, weights=by_node, minlength=len(self.size)), float)

    def most(self, by_node: Floats) -> Floats:
        """Shape (C,): what the best node of each cell has."""
        largest = np.full(len(self.size), -np.inf)
        np.maximum.at(largest, self.of, by_node)
        return largest

    def with_ends(self, ends: list[int]) -> Floats:
        """Shape (C + E, C + E) [s]: cells, then single nodes; a node is in its cell at no cost."""
        network, cells = self.problem.cluster.network, len(self.size)
        matrix = np.zeros((cells + len(ends),) * 2)
        matrix[:cells, :cells] = self.latency
        for i, end in enumerate(ends, cells):
            away, back = network.latency[network.group[end]], network.latency[:, network.group[end]]
            matrix[i, :cells] = self._least(away[network.group])
            matrix[:cells, i] = self._least(back[network.group])
            matrix[i, self.of[end]] = matrix[self.of[end], i] = 0.0
        for i, a in enumerate(ends, cells):
            for j, b in enumerate(ends, cells):
                matrix[i, j] = network.link_latency(a, b)
        return matrix

    def _least(self, by_node: Floats) -> Floats:
        smallest = np.full(len(self.size), np.inf)
        np.minimum.at(smallest, self.of, by_node)
        return smallest


def cells_of(problem: Problem, streams: int = 1) -> Cells:
    """Nodes while they and the `streams` of all queries are few; else the groups of the network; else
    clusters of close nodes."""
    network, count = problem.cluster.network, len(problem.cluster)
    most = max(min(MOST, int((WORK / max(streams, 1)) ** 0.5)), 8)
    if count <= most:
        return _of(problem, np.arange(count))
    groups, of = np.unique(network.group, return_inverse=True)
    if len(groups) <= most:
        return _of(problem, of)
    of = np.empty(count, np.int64)
    for cell, members in enumerate(split(network, np.arange(count), -(-count // most))):
        of[members] = cell
    return _of(problem, of)


def _of(problem: Problem, of: Ints) -> Cells:
    network = problem.cluster.network
    size = np.bincount(of)
    if len(size) == len(of):
        matrix = np.array(network.latency_matrix)
    else:
        matrix = np.empty((len(size), len(size)))
        order = np.argsort(of, kind="stable")
        starts = np.concatenate([[0], np.cumsum(size)[:-1]])
        columns = network.group[order]
        for cell in range(len(size)):
            rows = np.unique(columns[starts[cell] : starts[cell] + size[cell]])
            matrix[cell] = np.minimum.reduceat(network.latency[rows].min(axis=0)[columns], starts)
        np.fill_diagonal(matrix, 0.0)
    return Cells(problem, of, matrix, size)
