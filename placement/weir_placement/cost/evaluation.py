"""Headroom of a plan, and everything a plan says about itself (model.md sections 3, 5 and 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from weir_placement.cost.allowed import allowed_nodes, why_not
from weir_placement.cost.budget import shortages
from weir_placement.cost.constraint import Constraint, Reason, share_of
from weir_placement.cost.flows import scaled
from weir_placement.cost.latency import Delay
from weir_placement.cost.load import Load
from weir_placement.cost.node_loads import (
    NodeLoads,
    PointLoads,
    Sharing,
    constraints_at,
    hosts_of,
    loads_at,
)
from weir_placement.cost.raised import plan_at
from weir_placement.cost.rules import Flow
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem

TOLERANCE = 1e-9
"""Two headrooms closer than this (relative) are equal: their roots are exact to rounding only."""


def equal(a: float, b: float) -> bool:
    """Equal but for rounding."""
    return a == b or abs(a - b) <= TOLERANCE * max(abs(a), abs(b))


@dataclass(frozen=True)
class Evaluation:
    """A plan's headroom and loads; `reasons` says what makes it infeasible, empty when it is feasible."""

    headroom: float | None  # None: nothing depends on x
    constraints: tuple[Constraint, ...]  # the tightest first
    reasons: tuple[Reason, ...]
    point: int  # binding point of the profile
    latency: Mapping[str, float]  # query -> [s] at x = 1, the largest over the points; inf: it falls behind
    operators: Mapping[tuple[str, str], Flow]  # (query, alias or operator) -> flow at the binding point
    links: Mapping[tuple[str, str, str], Load]  # (stream, from, to) -> [bytes/s] at the binding point
    network_usage: float  # [bytes] in transit at x = 1, mean over the points
    fragments: int
    moves: int
    hosts: int  # of processes, or of those that fragments share
    loads: Mapping[str, NodeLoads] = field(default_factory=dict)  # at the binding point

    @property
    def feasible(self) -> bool:
        """Every constraint can be met at some x >= 0."""
        return not self.reasons

    @property
    def rank(self) -> float:
        """The headroom as a number: -1 infeasible, inf unbounded."""
        if not self.feasible:
            return -1.0
        return inf if self.headroom is None else self.headroom

    @property
    def overloads(self) -> tuple[Reason, ...]:
        """What the profile (x = 1) asks more of than there is, the tightest first; each resource once."""
        worst: dict[str, Reason] = {}
        for c in self.constraints:
            if 0 <= c.root < 1 - TOLERANCE and c.name not in worst:
                most = "limit" if c.resource == "latency" else "capacity"
                text = f"{c} of its {most} of {c.capacity:.6g} {c.unit}, at the expected rates"
                worst[c.name] = Reason(c.resource, c.place, c.share, text)
        return tuple(worst.values())

    @property
    def binding(self) -> Constraint | None:
        """The constraint that limits the headroom."""
        return self.constraints[0] if self.headroom is not None and self.constraints else None


def _misplaced(problem: Problem, plan: Plan) -> Iterable[Reason]:
    for placed in plan.queries:
        query = placed.query
        for op in query.operators:
            if placed.nodes[op.id] not in allowed_nodes(problem, query, op):
                text = why_not(problem, query, op, placed.nodes[op.id])
                yield Reason("placement", f"operator {query.name}/{op.id}", inf, text)
        for alias, stream in query.sources.items():
            if placed.origins[alias] not in problem.streams[stream].origins:
                origins = ", ".join(problem.streams[stream].origins)
                text = f"stream {stream} does not enter at node {placed.origins[alias]}, only at {origins}"
                yield Reason("origin", f"stream {stream}", inf, text)
        if query.deliver_to and placed.sink not in query.deliver_to:
            delivery = ", ".join(query.deliver_to)
            text = f"query {query.name} is to be delivered to {delivery}, not {placed.sink!r}"
            yield Reason("delivery", f"query {query.name}", inf, text)


def _reasons(problem: Problem, plan: Plan, broken: Iterable[Constraint]) -> list[Reason]:
    """What makes the plan infeasible."""
    reasons = [*_misplaced(problem, plan), *shortages(problem, plan)]
    for c in broken:
        value = c.load(0.0)
        if c.resource == "latency":
            text = f"{c.name} is {value:.6g} s, over its limit of {c.capacity:.6g} s"
            reasons.append(Reason(c.resource, c.place, share_of(value, c.capacity), text))
            continue
        text = f"{value:.6g} {c.unit} before any input, over its capacity of {c.capacity:.6g} {c.unit}"
        reasons.append(Reason(c.resource, c.place, share_of(value, c.capacity), f"{c.name} is {text}"))
    return reasons


def latencies_at(problem: Problem, plan: Plan, loads: PointLoads, point: int) -> Iterable[Constraint]:
    """Of the queries with a limit, where the plan has these loads."""
    for placed in plan.queries:
        limit, name = placed.query.max_latency, placed.query.name
        if limit < inf:
            yield Constraint("latency", (), "s", Delay(problem, placed, loads), limit, point, name)


def evaluate(problem: Problem, plan: Plan) -> Evaluation:
    """Headroom, loads, flows, latency and the binding constraint of a plan.

    Q(plan) = max { x : every constraint holds at r = x p }, the minimum over the profile's points;
    each constraint's root is exact (Proposition 1 and section 4 of WhiteWater).
    """
    constraints: list[Constraint] = []
    points: list[PointLoads] = []
    latency = dict.fromkeys((q.query.name for q in plan.queries), 0.0)
    for k, point in enumerate(problem.points()):
        points.append(loads_at(problem, plan_at(problem, plan, k), scaled(point)))
        constraints += constraints_at(problem, points[-1], k)
        constraints += latencies_at(problem, plan, points[-1], k)
        for placed in plan.queries:
            delay = Delay(problem, placed, points[-1])(1.0)
            latency[placed.query.name] = max(latency[placed.query.name], delay)
    roots = {id(c): c.root for c in constraints}
    constraints.sort(key=lambda c: (roots[id(c)], c.name))
    reasons = _reasons(problem, plan, [c for c in constraints if roots[id(c)] < 0])
    tightest = roots[id(constraints[0])] if constraints else inf
    headroom = None if tightest == inf else max(tightest, 0.0)
    binding = constraints[0].point if headroom is not None else 0
    sharing = Sharing(plan)
    force = {(p.query, p.operator): p.node for p in problem.in_force}
    return Evaluation(
        headroom=headroom,
        constraints=tuple(constraints),
        reasons=tuple(reasons),
        point=binding,
        latency=latency,
        operators=points[binding].operators,
        links=points[binding].links,
        network_usage=sum(_usage(problem, p.links) for p in points) / len(points),
        fragments=len(sharing.ends),
        moves=sum(
            force.get((q.query.name, op), node) != node for q in plan.queries for op, node in q.nodes.items()
        ),
        hosts=sum(count for _, count in hosts_of(plan, sharing)),
        loads=points[binding].nodes,
    )


def _usage(problem: Problem, links: Mapping[tuple[str, str, str], Load]) -> float:
    """Sum over flows of rate [bytes/s] x latency [s] at x = 1: bytes in transit (Hierarchical partitions)."""
    index, network = problem.cluster.index, problem.cluster.network
    return sum(load(1.0) * network.link_latency(index[a], index[b]) for (_, a, b), load in links.items())


def headroom_of(problem: Problem, plan: Plan, streams: frozenset[str]) -> float | None:
    """The largest x when only the rates of `streams` are scaled; None: nothing limits them."""
    lowest = inf
    for k, point in enumerate(problem.points()):
        loads = loads_at(problem, plan_at(problem, plan, k), scaled(point, streams))
        every = (*constraints_at(problem, loads, k), *latencies_at(problem, plan, loads, k))
        lowest = min([lowest, *(c.root for c in every)])
    return None if lowest == inf else max(lowest, 0.0)
