"""Which nodes an exact program must look at."""

from __future__ import annotations

import numpy as np

from weir_placement.array_types import Ints
from weir_placement.model.problem import Problem
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace


def named_nodes(problem: Problem, space: PlanSpace) -> set[int]:
    """Nodes that the query or its limits name: origins, sinks, allowed and pinned nodes, where it runs."""
    index = problem.cluster.index
    names = {o for s in space.query.sources.values() for o in problem.streams[s].origins}
    names.update(space.query.deliver_to)
    names.update(n for op in space.query.operators for n in op.nodes)
    names.update(node for key, node in problem.pinned.items() if key.startswith(f"{space.query.name}/"))
    names.update(p.node for p in problem.in_force if p.query == space.query.name)
    return {index[n] for n in names if n in index}


def all_sites(problem: Problem, space: PlanSpace) -> Ints:
    """Every node."""
    return np.arange(len(problem.cluster))


EVERY = 1024
"""Nodes up to which the exact program looks at every node."""


def exact_sites(ledger: Ledger, space: PlanSpace) -> Ints:
    """Nodes enough for an optimum: every one, or, in a large cluster, those that someone names, those
    where streams of the query run, and of each group of the network the node with the most free CPU and
    the one with the most free memory: without capacities the nodes of a group are alike."""
    problem = ledger.problem
    if len(problem.cluster) <= EVERY:
        return all_sites(problem, space)
    group = problem.cluster.network.group
    sites = named_nodes(problem, space)
    for signature in space.signatures:
        sites.update(ledger.advertised.get(signature, ()))
    takes = np.array([node.schedulable for node in problem.cluster.nodes])
    for free in (ledger.cpu, ledger.memory):
        order = np.lexsort((-free, ~takes, group))
        _, first = np.unique(group[order], return_index=True)
        sites.update(map(int, order[first]))
    return np.array(sorted(sites), np.int64)
