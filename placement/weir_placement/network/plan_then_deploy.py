"""The comparators of Hierarchical partitions, figure 2: plan first, by sizes alone, then deploy."""

from __future__ import annotations

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.cluster import Network
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Step, delivered, solve, tree
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.several import result
from weir_placement.network.single import Refusal, SinglePlacement, accept, latencies, place_query, sinks_of
from weir_placement.network.sites import exact_sites
from weir_placement.objectives import NETWORK_USAGE
from weir_placement.options import NoOptions
from weir_placement.request import PlanRequest
from weir_placement.strategy import Strategy

LARGEST = 5000
"""Nodes up to which coordinates are computed from the whole latency matrix."""


def smallest_order(space: PlanSpace) -> dict[int, int]:
    """Stream -> way of the join order whose intermediate streams carry the fewest bytes/s in all."""
    output = np.repeat(space.ways.bytes_per_second, np.diff(space.ways.start))
    present = np.full((space.ways.streams, 1), np.inf)
    present[list(space.aliases)] = 0.0
    table = solve(space.ways, np.zeros((1, 1)), present, output[:, None])
    _, node, _ = delivered(table, np.zeros(0, np.int64))
    root = tree(table, space.ways, space.ways.streams - 1, node)
    return {step.stream: step.way for step in steps(root) if step.way >= 0}


def plan_then_deploy(problem: Problem, request: PlanRequest, options: NoOptions) -> Result:
    """The best join order by size alone, then its optimal placement; nothing is reused."""

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        return place_query(ledger, space, exact_sites(ledger, space), reuse=False, only=smallest_order(space))

    return result(problem, "plan-then-deploy", planner, request, rounds=0)


def coordinates(latency: Floats, dimensions: int = 3, rounds: int = 200) -> Floats:
    """Network coordinates, shape (N, dimensions), whose distances approach the latencies [s].

    Vivaldi's springs, all of them relaxed at once and from a fixed start (SMACOF), so that the same
    matrix gives the same coordinates. O(rounds x N^2).
    """
    symmetric = (latency + latency.T) / 2.0
    count = len(symmetric)
    at = np.random.default_rng(0).standard_normal((count, dimensions)) * max(float(symmetric.mean()), 1e-9)
    for _ in range(rounds):
        apart = np.linalg.norm(at[:, None, :] - at[None, :, :], axis=2)
        ratio = np.divide(symmetric, apart, out=np.zeros_like(symmetric), where=apart > 1e-15)
        at = (ratio.sum(axis=1)[:, None] * at - ratio @ at) / count + at.mean(axis=0)
    return at


_last: list[tuple[Network, Floats]] = []


def _coordinates_of(problem: Problem) -> Floats:
    """Those of the last network are kept: queries are often planned one by one over the same."""
    network = problem.cluster.network
    if not _last or _last[0][0] is not network:
        _last[:] = [(network, coordinates(latencies(problem, np.arange(len(problem.cluster)))))]
    return _last[0][1]


def relaxation(problem: Problem, request: PlanRequest, options: NoOptions) -> Result:
    """The relaxation algorithm that the paper compares with: the join order by size, operators pulled by
    springs of their streams' rates in a coordinate space, each mapped to the nearest node.

    Raises:
        ValueError: more nodes than the coordinates are computed for.
    """
    if len(problem.cluster) > LARGEST:
        raise ValueError(f"relaxation reads the whole latency matrix: at most {LARGEST} nodes")
    at = _coordinates_of(problem)

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        only = smallest_order(space)
        start = place_query(ledger, space, exact_sites(ledger, space), reuse=False, only=only)
        if isinstance(start, Refusal):
            return start
        sinks = sinks_of(problem, space)
        relaxed = accept(ledger, space, relax(space, start.root, start.sink, at), sinks)
        return relaxed if isinstance(relaxed, SinglePlacement) else start

    return result(problem, "relaxation", planner, request, rounds=0)


def relax(space: PlanSpace, root: Step, sink: int, at: Floats, rounds: int = 100) -> Step:
    """Moves each operator to the mean of its neighbours weighted by rate (the rest point of springs
    of energy rate x distance^2), sources and sink fixed, then to the nearest node."""
    every = list(steps(root))
    number = {id(step): i for i, step in enumerate(every)}
    spot = np.array([at[step.node] for step in every])
    rate = space.ways.bytes_per_second
    pulls: list[list[tuple[int, float]]] = [[] for _ in every]
    for step in every:
        for below in step.inputs:
            pulls[number[id(step)]].append((number[id(below)], float(rate[below.stream])))
            pulls[number[id(below)]].append((number[id(step)], float(rate[below.stream])))
    for _ in range(rounds):
        for i, step in enumerate(every):
            if step.way < 0:
                continue
            pull = [(spot[j], w) for j, w in pulls[i]]
            if step is root and sink >= 0:
                pull.append((at[sink], float(rate[root.stream])))
            weight = sum(w for _, w in pull)
            if weight > 0:
                spot[i] = sum(p * w for p, w in pull) / weight
    nearest: Ints = np.array([np.argmin(((at - p) ** 2).sum(axis=1)) for p in spot])

    def moved(step: Step) -> Step:
        node = step.node if step.way < 0 else int(nearest[number[id(step)]])
        return Step(step.stream, node, step.way, tuple(moved(i) for i in step.inputs))

    return moved(root)


PLAN_THEN_DEPLOY = Strategy(
    "plan-then-deploy",
    "Hierarchical partitions, figure 2",
    (NETWORK_USAGE,),
    "the best placement of the smallest join order",
    plan_then_deploy,
    NoOptions,
)
RELAXATION = Strategy(
    "relaxation",
    "Hierarchical partitions, section 4",
    (NETWORK_USAGE,),
    "none: a comparator",
    relaxation,
    NoOptions,
)
