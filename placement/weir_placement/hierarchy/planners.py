"""The hierarchical strategies: `top-down`, `bottom-up`, `net-present-cost`, `top-down-refined`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from weir_placement.array_types import Ints
from weir_placement.hierarchy.bottom_up import NetPresentCost, bottom_up
from weir_placement.hierarchy.partition import Hierarchy, cluster_sizes, hierarchy_of
from weir_placement.hierarchy.top_down import top_down
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Step
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.several import ReuseOptions, result
from weir_placement.network.single import Refusal, SinglePlacement, accept, on_nodes, place_query, sinks_of
from weir_placement.network.sites import named_nodes
from weir_placement.objectives import NETWORK_USAGE
from weir_placement.options import option
from weir_placement.request import PlanRequest
from weir_placement.strategy import Strategy

Algorithm = Callable[[Ledger, PlanSpace], Step | None]
Make = Callable[[Hierarchy], Algorithm]


@dataclass(frozen=True)
class HierarchyOptions(ReuseOptions):
    """Of each hierarchical strategy."""

    max_cluster_size: int | None = option(
        None, "maximum number of nodes of a cluster", name="maxClusterSize", none="policy", least=2
    )


def route_sites(hierarchy: Hierarchy, problem: Problem, space: PlanSpace, chosen: set[int]) -> Ints:
    """Sources, sinks, the nodes chosen and the coordinators on the way of all of them."""
    ends = named_nodes(problem, space) | chosen
    return np.array(sorted({n for end in ends for n in hierarchy.path(end)}), np.int64)


def hierarchical(
    problem: Problem,
    name: str,
    make: Make,
    request: PlanRequest,
    options: HierarchyOptions,
    *,
    refine: bool = False,
    decisions: list[dict[str, Any]] | None = None,
) -> Result:
    """Plans every query with the algorithm that `make` gives for a hierarchy, for one of each of
    `cluster_sizes`: the cheapest plan counts.

    A plan that does not fit the capacities left, several of its operators together being too much
    for a node, gives way to the exact program over the same nodes and the coordinators on the way;
    `refine` does that for every query.
    """
    cap = problem.max_cluster_size if options.max_cluster_size is None else options.max_cluster_size
    hierarchies: list[Hierarchy] = []
    for size in cluster_sizes(len(problem.cluster), cap):
        hierarchy = hierarchy_of(problem.cluster, problem.tier_label, size)
        if all(hierarchy.levels != other.levels for other in hierarchies):
            hierarchies.append(hierarchy)
    algorithms = [(hierarchy, make(hierarchy)) for hierarchy in hierarchies]
    extra: dict[str, Any] = {} if decisions is None else {"decisions": decisions}
    extra["levels"] = [[len(level) for level in hierarchy.levels] for hierarchy in hierarchies]

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        plans = [by_hierarchy(ledger, space, *both) for both in algorithms]
        placed = [plan for plan in plans if isinstance(plan, SinglePlacement)]
        return min(placed, key=lambda plan: plan.cost) if placed else plans[-1]

    def by_hierarchy(
        ledger: Ledger, space: PlanSpace, hierarchy: Hierarchy, algorithm: Algorithm
    ) -> SinglePlacement | Refusal:
        root = algorithm(ledger, space)
        if root is None:
            return place_query(ledger, space, route_sites(hierarchy, problem, space, set()))
        full = on_nodes(ledger, space, root, range(len(problem.cluster)))
        placed = accept(ledger, space, full, sinks_of(problem, space))
        if refine or isinstance(placed, Refusal):
            running = {n for s in space.signatures for n in ledger.advertised.get(s, {})}
            chosen = {s.node for s in steps(full)} | running
            again = place_query(ledger, space, route_sites(hierarchy, problem, space, chosen))
            if isinstance(again, SinglePlacement) and refine:
                near = {s.node for s in steps(again.root)} | running
                near |= {m for n in near for m in hierarchy.of[0][n].members}
                again = place_query(ledger, space, route_sites(hierarchy, problem, space, near))
            if isinstance(again, SinglePlacement) or isinstance(placed, Refusal):
                return again
        return placed

    return result(
        problem,
        name,
        planner,
        request,
        reuse=options.reuse,
        rounds=1 if refine else 0,
        extra=extra,
    )


def _top_down(hierarchy: Hierarchy) -> Algorithm:
    return lambda ledger, space: top_down(ledger, space, hierarchy)


def _bottom_up(hierarchy: Hierarchy) -> Algorithm:
    return lambda ledger, space: bottom_up(ledger, space, hierarchy)


def _strategy(name: str, guarantee: str, make: Make, refine: bool = False) -> Strategy[HierarchyOptions]:
    def plan(problem: Problem, request: PlanRequest, options: HierarchyOptions) -> Result:
        return hierarchical(problem, name, make, request, options, refine=refine)

    return Strategy(name, "Hierarchical partitions", (NETWORK_USAGE,), guarantee, plan, HierarchyOptions)


TOP_DOWN = _strategy("top-down", "cost estimates within 2 sum d_i (Theorem 1)", _top_down)
"""Section 3.2: within own views only."""

TOP_DOWN_REFINED = _strategy(
    "top-down-refined", "a bound; no worse than top-down for a query alone", _top_down, refine=True
)
"""Top-down, then one exact program over sources, sink, the nodes chosen, the coordinators between."""

BOTTOM_UP = _strategy("bottom-up", "none", _bottom_up)
"""Section 3.3: from the sink's cluster upwards."""


def plan_net_present_cost(problem: Problem, request: PlanRequest, options: HierarchyOptions) -> Result:
    """The hybrid: fixes a join order here, or leaves it to the next level, by the odds it says."""
    decisions: list[dict[str, Any]] = []
    random = Random(request.seed)

    def make(hierarchy: Hierarchy) -> Algorithm:
        return lambda ledger, space: bottom_up(ledger, space, hierarchy, NetPresentCost(random, decisions))

    return hierarchical(problem, "net-present-cost", make, request, options, decisions=decisions)


NET_PRESENT_COST = Strategy(
    "net-present-cost",
    "Hierarchical partitions",
    (NETWORK_USAGE,),
    "none",
    plan_net_present_cost,
    HierarchyOptions,
)
