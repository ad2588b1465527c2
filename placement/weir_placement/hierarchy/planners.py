"""The hierarchical strategies: `top-down`, `bottom-up`, `net-present-cost`, `top-down-refined`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from weir_placement.hierarchy.bottom_up import NetPresentCost, bottom_up
from weir_placement.hierarchy.partition import Hierarchy, hierarchy_of
from weir_placement.hierarchy.top_down import top_down
from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.network.dynamic_program import Ints, Step
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.several import result, reuses
from weir_placement.network.single import Placement, Refusal, accept, on_nodes, place_query, sinks_of
from weir_placement.network.sites import bounding_sites, named

Algorithm = Callable[[Ledger, PlanSpace], tuple[Step | None, float]]


def route_sites(hierarchy: Hierarchy, problem: Problem, space: PlanSpace, chosen: set[int]) -> Ints:
    """Sources, sinks, the nodes chosen and the coordinators on the way of all of them."""
    ends = named(problem, space) | chosen
    return np.array(sorted({n for end in ends for n in hierarchy.path(end)}), np.int64)


def hierarchical(
    problem: Problem,
    name: str,
    objective: Objective,
    algorithm: Algorithm,
    hierarchy: Hierarchy,
    *,
    seed: int,
    time_limit: float,
    reuse: bool,
    refine: bool,
    extra: dict[str, Any],
) -> Result:
    """Plans every query with one of the algorithms.

    A plan that does not fit the capacities left, several of its operators together being too much
    for a node, gives way to the exact program over the same nodes and the coordinators on the way;
    `refine` does that for every query.
    """
    extra["plansExamined"] = 0.0
    extra["levels"] = [len(level) for level in hierarchy.levels]

    def planner(ledger: Ledger, space: PlanSpace) -> Placement | Refusal:
        root, plans = algorithm(ledger, space)
        extra["plansExamined"] += plans
        if root is None:
            return place_query(ledger, space, route_sites(hierarchy, problem, space, set()))
        every = np.arange(len(problem.cluster))
        full = on_nodes(ledger, space, root, every)
        placed = accept(ledger, space, full, sinks_of(problem, space))
        if refine or isinstance(placed, Refusal):
            running = {n for s in space.signatures for n in ledger.advertised.get(s, {})}
            chosen = {s.node for s in steps(full)} | running
            again = place_query(ledger, space, route_sites(hierarchy, problem, space, chosen))
            if isinstance(again, Placement) or isinstance(placed, Refusal):
                return again
        return placed

    return result(
        problem,
        name,
        objective,
        planner,
        seed=seed,
        time_limit=time_limit,
        reuse=reuse,
        rounds=1 if refine else 0,
        sites=bounding_sites,
        extra=extra,
    )


def _hierarchy(problem: Problem, options: Mapping[str, str]) -> Hierarchy:
    size = int(options.get("maxClusterSize", problem.max_cluster_size))
    return hierarchy_of(problem.cluster, problem.tier_label, size)


def plan_top_down(
    problem: Problem, *, objective: Objective, seed: int, time_limit: float, options: Mapping[str, str]
) -> Result:
    """004, section 3.2: within own views only."""
    hierarchy = _hierarchy(problem, options)

    def algorithm(ledger: Ledger, space: PlanSpace) -> tuple[Step | None, float]:
        return top_down(ledger, space, hierarchy)

    return hierarchical(
        problem,
        "top-down",
        objective,
        algorithm,
        hierarchy,
        seed=seed,
        time_limit=time_limit,
        reuse=reuses(options),
        refine=False,
        extra={},
    )


def plan_top_down_refined(
    problem: Problem, *, objective: Objective, seed: int, time_limit: float, options: Mapping[str, str]
) -> Result:
    """Top-down, then one exact program over sources, sink, the nodes chosen, the coordinators between."""
    hierarchy = _hierarchy(problem, options)

    def algorithm(ledger: Ledger, space: PlanSpace) -> tuple[Step | None, float]:
        return top_down(ledger, space, hierarchy)

    return hierarchical(
        problem,
        "top-down-refined",
        objective,
        algorithm,
        hierarchy,
        seed=seed,
        time_limit=time_limit,
        reuse=reuses(options),
        refine=True,
        extra={},
    )


def plan_bottom_up(
    problem: Problem, *, objective: Objective, seed: int, time_limit: float, options: Mapping[str, str]
) -> Result:
    """004, section 3.3: from the sink's cluster upwards."""
    hierarchy = _hierarchy(problem, options)

    def algorithm(ledger: Ledger, space: PlanSpace) -> tuple[Step | None, float]:
        return bottom_up(ledger, space, hierarchy)

    return hierarchical(
        problem,
        "bottom-up",
        objective,
        algorithm,
        hierarchy,
        seed=seed,
        time_limit=time_limit,
        reuse=reuses(options),
        refine=False,
        extra={},
    )


def plan_net_present_cost(
    problem: Problem, *, objective: Objective, seed: int, time_limit: float, options: Mapping[str, str]
) -> Result:
    """The hybrid: fixes a join order here, or leaves it to the next level, by the odds it says."""
    hierarchy = _hierarchy(problem, options)
    said: list[dict[str, Any]] = []
    random = Random(seed)

    def algorithm(ledger: Ledger, space: PlanSpace) -> tuple[Step | None, float]:
        return bottom_up(ledger, space, hierarchy, NetPresentCost(ledger, space, hierarchy, random, said))

    return hierarchical(
        problem,
        "net-present-cost",
        objective,
        algorithm,
        hierarchy,
        seed=seed,
        time_limit=time_limit,
        reuse=reuses(options),
        refine=False,
        extra={"decisions": said},
    )
