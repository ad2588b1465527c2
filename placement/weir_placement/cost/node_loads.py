"""Loads of nodes and links as functions of x, and the constraints on them (model.md section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from weir_placement.cost.constraint import Constraint
from weir_placement.cost.flows import flows_of, fragment_ends, hops
from weir_placement.cost.load import ZERO, Load, total
from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem


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

    @cached_property
    def between(self) -> dict[tuple[str, str], Load]:
        """Loads of the links, by their ends."""
        parts: dict[tuple[str, str], list[Load]] = defaultdict(list)
        for (_, source, target), load in self.links.items():
            parts[source, target].append(load)
        return {ends: total(loads) for ends, loads in parts.items()}


class Sharing:
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


def hosts_of(plan: Plan, sharing: Sharing) -> list[tuple[str, int]]:
    """(node, number) of the hosts: one for each sharing class and node, and one for each process of the
    fragments that share none."""
    shared: set[tuple[str, str]] = set()
    own = []
    for placed in plan.queries:
        query = placed.query
        for op in query.operators:
            if not sharing.counts(placed, op.id):
                continue
            if query.sharing_class:
                shared.add((query.sharing_class, placed.nodes[op.id]))
            elif (query.name, op.id) in sharing.ends:
                own.append((placed.nodes[op.id], query.processes))
    return [*((node, 1) for _, node in sorted(shared)), *own]


def loads_at(problem: Problem, plan: Plan, rates: Mapping[str, Load]) -> PointLoads:
    """Adds up operators, flows (each (stream, from, to) once), exchanges and fragments by node."""
    nodes: dict[str, _Parts] = defaultdict(_Parts)
    links: dict[tuple[str, str, str], Load] = {}
    operators: dict[tuple[str, str], Flow] = {}
    overheads = problem.overheads
    sharing = Sharing(plan)
    written: set[str] = set()
    for node_name, count in hosts_of(plan, sharing):
        nodes[node_name].cpu.append(Load.of(overheads.host_cpu * count))
        nodes[node_name].memory.append(Load.of(overheads.host_memory * count))
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
            if op.stateful and overheads.state_cpu:
                node.cpu.append(Load.of(overheads.state_cpu * len(op.inputs)))
            if (query.name, op.id) in sharing.ends:
                node.cpu.append(Load.of(overheads.process_cpu * query.processes))
                node.memory.append(Load.of(overheads.fragment_memory * query.processes))
        for hop in hops(placed):
            name = sharing.stream(placed, hop.producer)
            if hop.source != hop.target:
                links[name, hop.source, hop.target] = flows[hop.producer].bytes
            if hop.consumer and not sharing.counts(placed, hop.consumer):
                continue
            entering = hop.producer in query.sources
            ends = not entering and sharing.of(placed, hop.producer) in sharing.ends
            exchange = hop.exchange or (ends and bool(hop.consumer))
            if (exchange or (entering and hop.consumer)) and overheads.input_cpu:
                nodes[hop.target].cpu.append(Load.of(overheads.input_cpu))
            if exchange and overheads.exchange_cost:
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
    index = problem.cluster.index
    for (source, target), load_between in loads.between.items():
        bandwidth = problem.cluster.network.link_bandwidth(index[source], index[target])
        yield Constraint("bandwidth", (source, target), "bytes/s", load_between, bandwidth, point)
