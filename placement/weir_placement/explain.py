"""What would change a plan: what binds, what a core or a Mbit/s is worth, what each constraint costs.

Every figure is the headroom of a new plan for the changed problem, not a derivative: one more
core may let operators move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from weir_placement.cost.constraint import Constraint
from weir_placement.cost.evaluation import evaluate, headroom_of
from weir_placement.model.cluster import Node
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem
from weir_placement.strategies import STRATEGIES

MEGABIT = 1e6 / 8  # [bytes/s]
MANY = 32


@dataclass(frozen=True)
class Gain:
    """A change of the problem and the headroom of the best plan that was found for it (None: unbounded)."""

    change: str
    headroom: float | None
    gain: float | None


def tightest(problem: Problem, plan: Plan, count: int = 4) -> list[Constraint]:
    """The binding constraint and the next ones, by the x where they bind."""
    return [c for c in evaluate(problem, plan).constraints if c.root < inf][:count]


def best_headroom(problem: Problem, seed: int = 1, time_limit: float = 1.0) -> float | None:
    """Of the plan that `auto` finds."""
    plan = STRATEGIES["auto"].plan
    return plan(problem, objective="headroom", seed=seed, time_limit=time_limit, options={}).value


def _changed(problem: Problem, name: str, change: Callable[[Node], Node]) -> Problem:
    nodes = tuple(change(n) if n.name == name else n for n in problem.cluster.nodes)
    return replace(problem, cluster=replace(problem.cluster, nodes=nodes))


def _gain(change: str, problem: Problem, base: float | None) -> Gain:
    headroom = best_headroom(problem)
    return Gain(change, headroom, None if headroom is None or base is None else max(headroom - base, 0.0))


def prices(problem: Problem, plan: Plan, base: float | None) -> Iterator[Gain]:
    """What one more core, and one more Mbit/s out and in where that is limited, is worth at each node, and
    one more Mbit/s of each of the tightest links; `base` is the headroom of `plan`.

    In a cluster of more than `MANY` nodes only those that the plan uses are priced.
    """
    used = {node for q in plan.queries for node in (*q.nodes.values(), *q.origins.values(), q.sink)}
    for node in problem.cluster.nodes:
        if len(problem.cluster) > MANY and node.name not in used:
            continue
        more = _changed(problem, node.name, lambda n: replace(n, cpu=n.cpu + 1))
        yield _gain(f"one more core at node {node.name}", more, base)
        if node.egress < inf:
            more = _changed(problem, node.name, lambda n: replace(n, egress=n.egress + MEGABIT))
            yield _gain(f"one more Mbit/s out of node {node.name}", more, base)
        if node.ingress < inf:
            more = _changed(problem, node.name, lambda n: replace(n, ingress=n.ingress + MEGABIT))
            yield _gain(f"one more Mbit/s into node {node.name}", more, base)
    for constraint in tightest(problem, plan):
        if constraint.resource == "bandwidth":
            source, target = constraint.nodes
            yield _gain(f"one more Mbit/s from {source} to {target}", _wider(problem, source, target), base)


def _wider(problem: Problem, source: str, target: str) -> Problem:
    """One more Mbit/s on the links between the groups of two nodes."""
    network, index = problem.cluster.network, problem.cluster.index
    bandwidth = network.bandwidth.copy()
    bandwidth[network.group[index[source]], network.group[index[target]]] += MEGABIT
    return replace(problem, cluster=replace(problem.cluster, network=replace(network, bandwidth=bandwidth)))


def without(problem: Problem, base: float | None) -> Iterator[Gain]:
    """The plan without each kind of constraint: cpu, memory, network, latency, pins, allowed nodes,
    quotas; `base` is the headroom with all of them."""
    cluster = problem.cluster

    def on_nodes(**limits: float) -> Problem:
        nodes = tuple(replace(n, **limits) for n in cluster.nodes)  # type: ignore[arg-type]
        return replace(problem, cluster=replace(cluster, nodes=nodes))

    unlimited = replace(cluster.network, bandwidth=np.full_like(cluster.network.bandwidth, inf))
    anywhere = tuple(
        replace(q, operators=tuple(replace(op, nodes=()) for op in q.operators)) for q in problem.queries
    )
    changes = {
        "without limits on cpu": on_nodes(cpu=inf),
        "without limits on memory": on_nodes(memory=inf),
        "without limits on egress and ingress": on_nodes(egress=inf, ingress=inf),
        "without limits on links": replace(problem, cluster=replace(cluster, network=unlimited)),
        "without limits on latency": replace(
            problem, queries=tuple(replace(q, max_latency=inf) for q in problem.queries)
        ),
        "without pinned and forbidden nodes": replace(problem, pinned={}, forbidden={}),
        "with every operator allowed on every node": replace(problem, queries=anywhere),
    }
    if problem.budgets:
        changes["without quotas"] = replace(problem, budgets=())
    for change, changed in changes.items():
        yield _gain(change, changed, base)


def feasible_region(
    problem: Problem, plan: Plan, first: str, second: str, points: int = 61
) -> NDArray[np.float64]:
    """The boundary of the feasible rates of two streams (WhiteWater, figures 2 and 3).

    Returns shape (points, 2) [tuples/s]: along rays from the origin at equal angles, in units of the
    profile, the greatest rates that the plan carries; other streams stay at the profile. A ray that
    nothing limits ends at infinity.
    """
    profile = problem.points()[0]
    boundary = np.empty((points, 2))
    for k, angle in enumerate(np.linspace(0.0, np.pi / 2, points)):
        share = np.cos(angle), np.sin(angle)
        rates = {first: profile[first] * share[0], second: profile[second] * share[1]}
        rest = {name: rate for name, rate in profile.items() if name not in rates}
        along = replace(problem, profile=({**rest, **rates},))
        x = _reach(along, plan, (first, second))
        boundary[k] = rates[first] * x, rates[second] * x
    return boundary


def _reach(problem: Problem, plan: Plan, streams: tuple[str, str]) -> float:
    """The largest factor on two streams' rates with the others fixed."""
    x = headroom_of(problem, plan, frozenset(streams))
    return inf if x is None else x
