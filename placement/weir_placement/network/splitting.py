"""Balanced clusters of close nodes: recursive splitting, and capacity-constrained k-medoids."""

from __future__ import annotations

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.cluster import Network

REFINED = 256
"""Nodes up to which k-medoids refine the splitting: the assignment costs O(n^3)."""


def closure(latency: Floats) -> Floats:
    """Shortest-path closure, shape (N, N): the traversal cost that Theorem 1 is about. O(N^3).

    >>> closure(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 2.0], [1.0, 2.0, 0.0]]))[0, 1]
    np.float64(3.0)
    """
    from scipy.sparse.csgraph import shortest_path  # half a second

    # scipy reads a zero of a dense matrix as "no link"; a link without latency is one all the same
    weights = np.where(latency > 0, latency, 1e-300)
    return np.asarray(shortest_path(weights, method="FW", directed=True))


def traversal(network: Network, sources: Ints, targets: Ints) -> Floats:
    """Traversal costs [s] between nodes, shape (sources, targets): the dearer of both directions."""
    rows, columns = network.group[sources], network.group[targets]
    cost = np.maximum(network.latency[np.ix_(rows, columns)], network.latency[np.ix_(columns, rows)].T)
    return np.asarray(np.where(sources[:, None] == targets[None, :], 0.0, cost))


def split(network: Network, nodes: Ints, largest: int) -> list[Ints]:
    """Clusters of at most `largest` nodes, every node in one; deterministic; O(n log n) distances.

    Halves a set between two far nodes p and q in the order of c(p, x) - c(q, x), in whole numbers of
    clusters; up to `REFINED` nodes, k-medoids then improve the clusters.
    """
    clusters: list[Ints] = []
    pending = [np.asarray(nodes, np.int64)]
    while pending:
        part = pending.pop()
        if len(part) <= largest:
            clusters.append(np.sort(part))
            continue
        count = -(-len(part) // largest)
        p = part[np.argmax(traversal(network, part[:1], part)[0])]
        from_p = traversal(network, np.array([p]), part)[0]
        q = part[np.argmax(from_p)]
        side = from_p - traversal(network, np.array([q]), part)[0]
        order = np.lexsort((part, network.group[part], side))
        cut = len(part) * (count // 2) // count
        pending += [part[order[cut:]], part[order[:cut]]]
    if len(clusters) > 1 and len(nodes) <= REFINED:
        return _medoids(network, clusters, largest)
    return clusters


def medoid(network: Network, members: Ints) -> int:
    """The member whose traversal costs to the others add up to the least."""
    if len(members) == 1:
        return int(members[0])
    return int(members[np.argmin(traversal(network, members, members).sum(axis=1))])


def _medoids(network: Network, clusters: list[Ints], largest: int, rounds: int = 10) -> list[Ints]:
    """Assigns nodes to medoids with at most `largest` each (an assignment problem), moves the
    medoids, until the total cost stops falling."""
    from scipy.optimize import linear_sum_assignment  # half a second

    nodes = np.sort(np.concatenate(clusters))
    best, best_cost = clusters, np.inf
    for _ in range(rounds):
        centres = np.array([medoid(network, c) for c in clusters])
        cost = traversal(network, nodes, centres)
        rows, columns = linear_sum_assignment(np.repeat(cost, largest, axis=1))
        label = np.empty(len(nodes), np.int64)
        label[rows] = columns // largest
        total = float(cost[np.arange(len(nodes)), label].sum())
        if total >= best_cost * (1 - 1e-9):
            break
        clusters = [nodes[label == k] for k in range(len(centres)) if np.any(label == k)]
        best, best_cost = clusters, total
    return best
