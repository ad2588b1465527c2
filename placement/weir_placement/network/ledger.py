"""What runs and flows so far in a planning round: loads, shared flows, advertised streams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from weir_placement.array_types import Floats
from weir_placement.model.amounts import bits
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Step
from weir_placement.network.plan_space import PlanSpace

FlowKey = tuple[str, int, int]
"""(stream's signature, from, to): a flow, which counts once however many read it."""

TOLERANCE = 1e-9
"""Relative; loads that meet a capacity to rounding fit."""


class Derivation(NamedTuple):
    """A running stream: a step of a plan tree of a query."""

    space: PlanSpace
    step: Step

    @property
    def signature(self) -> str:
        """Of the stream."""
        return self.space.signatures[self.step.stream]

    @property
    def node(self) -> int:
        """Where it is made."""
        return self.step.node

    @property
    def inputs(self) -> list[Derivation]:
        """What it is made from."""
        return [Derivation(self.space, below) for below in self.step.inputs]


def steps(root: Step) -> list[Step]:
    """Every step of a tree, each before those below it."""
    tree = [root]
    for step in tree:
        tree += step.inputs
    return tree


def flows(space: PlanSpace, root: Step, sink: int) -> Iterator[tuple[FlowKey, float]]:
    """The flows of a tree between nodes, its delivery among them, with their bytes/s."""
    if sink >= 0 and sink != root.node:
        yield (
            (space.signatures[root.stream], root.node, sink),
            float(space.ways.bytes_per_second[root.stream]),
        )
    for step in steps(root):
        for below in step.inputs:
            if below.node != step.node:
                key = (space.signatures[below.stream], below.node, step.node)
                yield key, float(space.ways.bytes_per_second[below.stream])


class Ledger:
    """Free capacity by node [CPU-us/s, bytes, bytes/s, bytes/s] and everything counted against it.

    An operator is known by (signature of what it makes, node), a flow by `FlowKey`; each has a count
    of the plans that use it and loads its nodes and links once.
    """

    def __init__(self, problem: Problem) -> None:
        nodes = problem.cluster.nodes
        self.problem = problem
        self.network = problem.cluster.network
        self.cpu = np.array([n.cpu_capacity for n in nodes])
        self.memory = np.array([n.memory for n in nodes])
        self.egress = np.array([n.egress for n in nodes])
        self.ingress = np.array([n.ingress for n in nodes])
        self.schedulable = np.array([n.schedulable for n in nodes], bool)
        self.bounded_links = bool(np.isfinite(self.network.bandwidth).any())
        self.bounded = self.bounded_links or bool(
            np.isfinite(self.egress).any() or np.isfinite(self.ingress).any()
        )
        self.link_used: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        self.operators: dict[tuple[str, int], int] = defaultdict(int)
        self.flows: dict[FlowKey, int] = defaultdict(int)
        self.advertised: dict[str, dict[int, Derivation]] = {}
        self.arrivals: dict[str, dict[int, list[int]]] = {}
        self.usage = 0.0

    def limit(self, sites: np.ndarray) -> Floats | None:
        """Shape (C, C) [bytes/s]: the widest new flow between sites, None when nothing is bounded."""
        if not self.bounded:
            return None
        free = np.minimum(self.egress[sites][:, None], self.ingress[sites][None, :])
        if self.bounded_links:
            group = self.network.group[sites]
            free = np.minimum(free, self.network.bandwidth[np.ix_(group, group)])
            position = {n: i for i, n in enumerate(sites.tolist())}
            for a, i in position.items():
                for b, used in self.link_used.get(a, {}).items():
                    if b in position:
                        left = self.network.link_bandwidth(a, b) - used
                        free[i, position[b]] = min(free[i, position[b]], left)
        return np.asarray(free * (1 + TOLERANCE))

    def overloads(self, space: PlanSpace, root: Step, sink: int) -> Iterator[tuple[str, int, str]]:
        """What a tree would overload: ("cpu" | "memory" | "flow", node, the constraint with its numbers)."""
        name = self.problem.cluster.nodes
        cpu: dict[int, float] = {}
        memory: dict[int, float] = {}
        for step in steps(root):
            if step.way >= 0 and not self.operators.get((space.signatures[step.stream], step.node)):
                at = step.node
                cpu[at] = cpu.get(at, 0.0) + float(space.ways.cpu[step.way])
                memory[at] = memory.get(at, 0.0) + float(space.ways.memory[step.way])
        for kind, added, free, unit in (
            ("cpu", cpu, self.cpu, "CPU-us/s"),
            ("memory", memory, self.memory, "bytes"),
        ):
            for node, load in added.items():
                if load > free[node] * (1 + TOLERANCE) + 1e-12:
                    amounts = f"{load:.6g} {unit} needed, {free[node]:.6g} free"
                    yield kind, node, f"{kind} of node {name[node].name}: {amounts}"
        if self.bounded:
            yield from self._wide(space, root, sink)

    def _wide(self, space: PlanSpace, root: Step, sink: int) -> Iterator[tuple[str, int, str]]:
        out: dict[int, float] = {}
        into: dict[int, float] = {}
        link: dict[tuple[int, int], float] = {}
        for key, rate in dict(flows(space, root, sink)).items():
            if key not in self.flows:
                _, a, b = key
                out[a] = out.get(a, 0.0) + rate
                into[b] = into.get(b, 0.0) + rate
                link[a, b] = link.get((a, b), 0.0) + rate
        for which, added, free in (("egress", out, self.egress), ("ingress", into, self.ingress)):
            for node, load in added.items():
                if load > free[node] * (1 + TOLERANCE):
                    name = f"{which} of node {self.problem.cluster.nodes[node].name}"
                    yield "flow", node, f"{name}: {bits(load)} needed, {bits(free[node])} free"
        for (a, b), load in link.items() if self.bounded_links else ():
            left = self.network.link_bandwidth(a, b) - self.link_used.get(a, {}).get(b, 0.0)
            if load > left * (1 + TOLERANCE):
                names = [self.problem.cluster.nodes[n].name for n in (a, b)]
                which = f"bandwidth of link {names[0]} -> {names[1]}"
                yield "flow", b, f"{which}: {bits(load)} needed, {bits(left)} free"

    def close(self, node: int) -> None:
        """The node takes no more work and passes on nothing: it is gone."""
        for free in (self.cpu, self.memory, self.egress, self.ingress):
            free[node] = -np.inf
        self.bounded = True

    def add(self, space: PlanSpace, root: Step, sink: int) -> None:
        """Counts a plan."""
        self._count(space, root, sink, 1)

    def remove(self, space: PlanSpace, root: Step, sink: int) -> None:
        """Takes a plan back; what others share stays."""
        self._count(space, root, sink, -1)

    def _count(self, space: PlanSpace, root: Step, sink: int, by: int) -> None:
        for step in steps(root):
            if step.way < 0:
                continue
            key = (space.signatures[step.stream], step.node)
            before = self.operators[key]
            self.operators[key] = before + by
            if before == 0 or before + by == 0:
                self.cpu[step.node] -= by * space.ways.cpu[step.way]
                self.memory[step.node] -= by * space.ways.memory[step.way]
                self._advertise(key, Derivation(space, step) if by > 0 else None)
        for flow, rate in flows(space, root, sink):
            before = self.flows[flow]
            self.flows[flow] = before + by
            if before == 0 or before + by == 0:
                self._carry(flow, rate, by)

    def _advertise(self, key: tuple[str, int], running: Derivation | None) -> None:
        signature, node = key
        if running is not None:
            self.advertised.setdefault(signature, {})[node] = running
            return
        del self.operators[key]
        del self.advertised[signature][node]

    def _carry(self, flow: FlowKey, rate: float, by: int) -> None:
        signature, a, b = flow
        self.usage += by * rate * self.network.link_latency(a, b)
        self.egress[a] -= by * rate
        self.ingress[b] -= by * rate
        self.link_used[a][b] += by * rate
        arrivals = self.arrivals.setdefault(signature, {}).setdefault(b, [])
        if by > 0:
            arrivals.append(a)
            return
        del self.flows[flow]
        arrivals.remove(a)
        if not arrivals:
            del self.arrivals[signature][b]
