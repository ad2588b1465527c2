"""Plans that run, put beside a problem that has changed since they were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

import numpy as np
from weir_placement.model.cluster import Cluster, Node
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Placed, Problem


def placed(plans: Iterable[QueryPlan]) -> tuple[Placed, ...]:
    """Where their operators run, for `Problem.in_force`."""
    return tuple(Placed(plan.query.name, op, node) for plan in plans for op, node in plan.nodes.items())


def with_missing_nodes(
    cluster: Cluster, plans: Iterable[QueryPlan | None], unreadable: frozenset[str] = frozenset()
) -> Cluster:
    """Nodes that plans use and that were deleted, as nodes that can do nothing: the plans can be judged.
    Nodes of which it is not known what they have can do all that they do, and get nothing new."""
    used = {
        node
        for plan in plans
        if plan
        for node in (*plan.nodes.values(), *plan.origins.values(), plan.sink)
        if node
    }
    missing = sorted(used - set(cluster.index))
    if not missing:
        return cluster
    network = cluster.network
    group = np.concatenate([network.group, np.zeros(len(missing), dtype=network.group.dtype)])
    nodes = cluster.nodes + tuple(
        Node(name, cpu=inf if name in unreadable else 0.0, schedulable=False) for name in missing
    )
    return Cluster(nodes, replace(network, group=group))


def with_current_origins(problem: Problem, plan: QueryPlan) -> QueryPlan:
    """A plan whose streams enter where they do now: a node at which one entered may be no more."""
    origins = {}
    for alias, node in plan.origins.items():
        current = problem.streams[plan.query.sources[alias]].origins
        origins[alias] = node if node in current or not current else current[0]
    return replace(plan, origins=origins)
