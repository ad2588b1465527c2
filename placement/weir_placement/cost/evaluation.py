"""Headroom of a plan, and everything a plan says about itself (model.md sections 3, 5 and 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from weir_placement.cost.allowed import allowed_nodes, why_not
from weir_placement.cost.budget import shortages
from weir_placement.cost.constraint import Constraint, Reason, share_of
from weir_placement.cost.flows import flows_of, fragment_ends, hops, scaled
from weir_placement.cost.latency import longest_path
from weir_placement.cost.load import ZERO, Load, total
from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.plan import Plan, QueryPlan
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
    latency: Mapping[str, float]  # query -> [s]
    operators: Mapping[tuple[str, str], Flow]  # (query, alias or operator) -> flow at the binding point
    links: Mapping[tuple[str, str, str], Load]  # (stream, from, to) -> [bytes/s] at the binding point
    network_usage: float  # [bytes] in transit at x = 1, mean over the points
    fragments: int
    moves: int
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
                text = f"{c} of its capacity of {c.capacity:.6g} {c.unit}, at the expected rates"
                worst[c.name] = Reason(c.resource, c.place, c.share, text)
        return tuple(worst.values())

    @property
    def binding(self) -> Constraint | None:
        """The constraint that limits the headroom."""
        return self.constraints[0] if self.headroom is not None and self.constraints else None


@dataclass(frozen=True)
class NodeLoads:
    """Loads of one node as functions of x: [CPU-us/s], [bytes], [bytes/s], [bytes/s]."""

    cpu: Load = ZERO
    memory: Load = ZERO
    egress: Load = ZERO
    ingress: Load = ZERO


@dataclass
class _Parts:
    """What adds up to the loads of one node."""

    cpu: list[Load] = field(default_factory=list)
    memory: list[Load] = field(default_factory=list)
    egress: list[Load] = field(default_factory=list)
    ingress: list[Load] = field(default_factory=list)

    def summed(self) -> NodeLoads:
        return NodeLoads(total(self.cpu), total(self.memory), total(self.egress), total(self.ingress))


@dataclass
class PointLoads:
    """Loads by node, flows by (stream, from, to), flows by (query, alias or operator)."""

    nodes: dict[str, NodeLoads]
    links: dict[tuple[str, str, str], Load]
    operators: dict[tuple[str, str], Flow]


class _Sharing:
    """Which operators of a plan stand for others: the first query that has a shared one counts it."""

    def __init__(self, plan: Plan) -> None:
        self.first: dict[str, tuple[str, str]] = {}  # key -> (query, operator)
        self.ends: set[tuple[str, str]] = set()  # what ends fragments, each once
        for placed in plan.queries:
            for op, key in placed.shared.items():
                self.first.setdefault(key, (placed.query.name, op))
        for placed in plan.queries:
            self.ends.update(self.of(placed, end) for end in fragment_ends(placed))

    def of(self, placed: QueryPlan, op: str) -> tuple[str, str]:
        """(query, operator) that counts for an operator."""
        key = placed.shared.get(op)
        return self.first[key] if key is not None else (placed.query.name, op)

    def counts(self, placed: QueryPlan, op: str) -> bool:
        """Whether an operator counts itself."""
        return self.of(placed, op) == (placed.query.name, op)

    def stream(self, placed: QueryPlan, producer: str) -> str:
        """A stream's name across queries: that of the source, or `query/operator`."""
        return placed.query.sources.get(producer) or "/".join(self.of(placed, producer))


def loads_at(problem: Problem, plan: Plan, rates: Mapping[str, Load]) -> PointLoads:
    """Adds up operators, flows (each (stream, from, to) once), exchanges and fragments by node."""
    nodes: dict[str, _Parts] = defaultdict(_Parts)
    links: dict[tuple[str, str, str], Load] = {}
    operators: dict[tuple[str, str], Flow] = {}
    overheads = problem.overheads
    sharing = _Sharing(plan)
    written: set[str] = set()
    for placed in plan.queries:
        query = placed.query
        flows = flows_of(query, problem.streams, rates)
        operators.update({(query.name, name): flow for name, flow in flows.items()})
        for op in query.operators:
            if not sharing.counts(placed, op.id):
                continue
            inputs = [flows[i] for i in op.inputs]
            node = nodes[placed.nodes[op.id]]
            node.cpu.append(RULES[op.kind].cpu(op, inputs, flows[op.id].rate))
            node.memory.append(RULES[op.kind].memory(op, inputs))
            if (query.name, op.id) in sharing.ends:
                node.cpu.append(Load.of(overheads.fragment_cpu * query.processes))
                node.memory.append(Load.of(overheads.fragment_memory * query.processes))
        for hop in hops(placed):
            name = sharing.stream(placed, hop.producer)
            if hop.source != hop.target:
                links[name, hop.source, hop.target] = flows[hop.producer].bytes
            if hop.consumer and not sharing.counts(placed, hop.consumer):
                continue
            ends = hop.producer not in query.sources and sharing.of(placed, hop.producer) in sharing.ends
            if (hop.exchange or (ends and hop.consumer)) and overheads.exchange_cost:
                cost = flows[hop.producer].rate.times(overheads.exchange_cost)
                nodes[hop.target].cpu.append(cost)
                if name not in written:
                    written.add(name)
                    nodes[hop.source].cpu.append(cost)
    for (_, source, target), load in links.items():
        nodes[source].egress.append(load)
        nodes[target].ingress.append(load)
    return PointLoads({name: parts.summed() for name, parts in nodes.items()}, links, operators)


def constraints_at(problem: Problem, loads: PointLoads, point: int) -> Iterable[Constraint]:
    """Of the nodes and links that carry something, in an order that only the plan decides."""
    for node in problem.cluster.nodes:
        load = loads.nodes.get(node.name)
        if load is None:
            continue
        at = (node.name,)
        yield Constraint("cpu", at, "CPU-us/s", load.cpu, node.cpu_capacity, point)
        yield Constraint("memory", at, "bytes", load.memory, node.memory, point)
        yield Constraint("egress", at, "bytes/s", load.egress, node.egress, point)
        yield Constraint("ingress", at, "bytes/s", load.ingress, node.ingress, point)
    by_link: dict[tuple[str, str], list[Load]] = defaultdict(list)
    for (_, source, target), bytes_ in loads.links.items():
        by_link[source, target].append(bytes_)
    index = problem.cluster.index
    for (source, target), parts in by_link.items():
        bandwidth = problem.cluster.network.link_bandwidth(index[source], index[target])
        yield Constraint("bandwidth", (source, target), "bytes/s", total(parts), bandwidth, point)


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


def _reasons(
    problem: Problem, plan: Plan, broken: Iterable[Constraint], latency: Mapping[str, float]
) -> list[Reason]:
    """What makes the plan infeasible."""
    reasons = [*_misplaced(problem, plan), *shortages(problem, plan)]
    for placed in plan.queries:
        name, value, limit = placed.query.name, latency[placed.query.name], placed.query.max_latency
        if value > limit * (1 + TOLERANCE):
            text = f"latency of query {name} is {value:.6g} s, over its limit of {limit:.6g} s"
            reasons.append(Reason("latency", f"query {name}", share_of(value, limit), text))
    for c in broken:
        value = c.load(0.0)
        text = f"{value:.6g} {c.unit} before any input, over its capacity of {c.capacity:.6g} {c.unit}"
        reasons.append(Reason(c.resource, c.place, share_of(value, c.capacity), f"{c.name} is {text}"))
    return reasons


def evaluate(problem: Problem, plan: Plan) -> Evaluation:
    """Headroom, loads, flows, latency and the binding constraint of a plan.

    Q(plan) = max { x : every constraint holds at r = x p }, the minimum over the profile's points;
    each constraint's root is exact (Proposition 1 and section 4 of WhiteWater).
    """
    constraints: list[Constraint] = []
    points: list[PointLoads] = []
    for k, point in enumerate(problem.points()):
        points.append(loads_at(problem, plan, scaled(point)))
        constraints += constraints_at(problem, points[-1], k)
    roots = {id(c): c.root for c in constraints}
    constraints.sort(key=lambda c: (roots[id(c)], c.name))
    latency = {q.query.name: longest_path(problem, q) for q in plan.queries}
    reasons = _reasons(problem, plan, [c for c in constraints if roots[id(c)] < 0], latency)
    tightest = roots[id(constraints[0])] if constraints else inf
    headroom = None if tightest == inf else max(tightest, 0.0)
    binding = constraints[0].point if headroom is not None else 0
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
        fragments=len(_Sharing(plan).ends),
        moves=sum(
            force.get((q.query.name, op), node) != node for q in plan.queries for op, node in q.nodes.items()
        ),
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
        loads = loads_at(problem, plan, scaled(point, streams))
        lowest = min([lowest, *(c.root for c in constraints_at(problem, loads, k))])
    return None if lowest == inf else max(lowest, 0.0)
