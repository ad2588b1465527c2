"""Join orders, places and flows of queries together, within every capacity: one integer program, by CP-SAT.

The program is complete: if there is a plan, it has it; if there is none, it proves so, and then its elastic
form says by how much capacities fall short. A variable is a way of a stream run at a node, or a flow of a
stream between two nodes from where it is made. Streams of equal signature are one stream, made and sent once
for all queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from weir_placement.model.cluster import REFERENCE_CORE
from weir_placement.network.ledger import TOLERANCE, FlowKey, Ledger, flows, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import SinglePlacement, placing, presence, sinks_of

SCALE = 10_000_000
"""Loads as whole numbers: of a capacity."""

COSTS = 1_000_000_000
"""Costs as whole numbers: of the largest."""

TICK = 1e-6
"""[s] of a latency limit."""


class Run(NamedTuple):
    """A stream made at a node from streams: what two queries do together."""

    signature: str
    inputs: tuple[str, ...]
    node: int


Capacity = tuple[str, int, int]
"""("cpu" | "memory" | "egress" | "ingress", node, 0) or ("link", from, to)."""


@dataclass(frozen=True)
class Task:
    """A query to be planned, the nodes that it may use and a plan that is known, if there is one."""

    space: PlanSpace
    sites: Sequence[int]
    hint: SinglePlacement | None = None


class JointProgram:
    """The program over what a ledger leaves free.

    Args:
        ledger: what runs already, which stays.
        elastic: capacities may be exceeded, as little as possible, and usage does not count.
    """

    unit = 0.0
    """[bytes] of the objective; 0 where any plan will do."""

    def __init__(self, ledger: Ledger, tasks: Sequence[Task], *, elastic: bool = False, reuse: bool = False):
        from ortools.sat.python import cp_model  # takes about a second to load, and is seldom needed

        self.ledger, self.tasks, self.elastic, self.reuse = ledger, tasks, elastic, reuse
        self.model = cp_model.CpModel()
        self.rate: dict[str, float] = {}
        self.loads: dict[Run, tuple[float, float]] = {}
        self.present: dict[str, set[int]] = {}
        self.makers: dict[str, dict[int, list[Run]]] = {}
        self.users: dict[str, set[int]] = {}
        self.needed: dict[tuple[str, int], Any] = {}
        self.flow: dict[tuple[str, int, int], Any] = {}
        self.excess: dict[Capacity, tuple[Any, float]] = {}
        self.complete = True
        for n, task in enumerate(tasks):
            self._collect(n, task)
        self.run = {run: self.model.new_bool_var("") for run in self.loads}
        for run in self.loads:
            for signature in run.inputs:
                self._need(signature, run.node, self.run[run])
        for task in tasks:
            self._deliver(task)
        self._once()
        self._capacities()
        for task in tasks:
            if task.space.query.max_latency < inf:
                self._in_time(task)
        self._objective()

    def literals(self) -> Iterator[tuple[Run | FlowKey, Any]]:
        """What runs and what flows, with its variable."""
        yield from self.run.items()
        yield from self.flow.items()

    def _collect(self, n: int, task: Task) -> None:
        space, sites = task.space, np.array(task.sites, np.int64)
        place = placing(self.ledger, space, sites, full=self.elastic)
        present, _ = presence(self.ledger, space, sites, self.reuse)
        for t, signature in enumerate(space.signatures):
            self.rate.setdefault(signature, float(space.ways.bytes_per_second[t]))
            self.users.setdefault(signature, set()).add(n)
            here = self.present.setdefault(signature, set())
            here.update(int(sites[i]) for i in np.flatnonzero(present[t] == 0.0))
            for way in range(int(space.ways.start[t]), int(space.ways.start[t + 1])):
                inputs = tuple(sorted(space.signatures[i] for i in space.ways.inputs_of(way)))
                load = float(space.ways.cpu[way]), float(space.ways.memory[way])
                for i in np.flatnonzero(np.isfinite(place[way])):
                    run = Run(signature, inputs, int(sites[i]))
                    if run not in self.loads:
                        self.makers.setdefault(signature, {}).setdefault(run.node, []).append(run)
                        self.loads[run] = load
                    elif load != self.loads[run]:
                        other = self.loads[run]
                        self.loads[run] = max(load[0], other[0]), max(load[1], other[1])

    def _need(self, signature: str, node: int, literal: Any) -> None:
        """Where `literal` holds, the stream is at the node."""
        if node in self.present[signature]:
            return
        if (signature, node) not in self.needed:
            there = self.needed[signature, node] = self.model.new_bool_var("")
            makers = self.makers.get(signature, {})
            ways = [self.run[run] for run in makers.get(node, ())]
            for other in sorted({*makers, *self.present[signature]} - {node}):
                if self.elastic or self.rate[signature] <= self._widest(other, node):
                    ways.append(self._flow(signature, other, node))
            self.model.add_bool_or([there.Not(), *ways])
        if literal is None:
            self.model.add(self.needed[signature, node] == 1)
        else:
            self.model.add_implication(literal, self.needed[signature, node])

    def _widest(self, a: int, b: int) -> float:
        ledger = self.ledger
        free = min(float(ledger.egress[a]), float(ledger.ingress[b]))
        if ledger.bounded_links:
            free = min(free, ledger.network.link_bandwidth(a, b) - ledger.link_used.get(a, {}).get(b, 0.0))
        return free * (1 + TOLERANCE)

    def _flow(self, signature: str, a: int, b: int) -> Any:
        key = signature, a, b
        if key not in self.flow:
            self.flow[key] = self.model.new_bool_var("")
            if a not in self.present[signature]:
                runs = [self.run[run] for run in self.makers[signature][a]]
                self.model.add_bool_or([self.flow[key].Not(), *runs])
        return self.flow[key]

    def _deliver(self, task: Task) -> None:
        last = task.space.signatures[-1]
        sinks = [int(s) for s in sinks_of(self.ledger.problem, task.space)]
        if not sinks:
            if not self.present[last]:
                self.model.add_bool_or([self.run[r] for rs in self.makers.get(last, {}).values() for r in rs])
            return
        if any(s in self.present[last] for s in sinks):
            return
        at = [self.model.new_bool_var("") for _ in sinks]
        self.model.add_bool_or(at)
        for sink, literal in zip(sinks, at, strict=True):
            self._need(last, sink, literal)

    def _once(self) -> None:
        """A query makes a stream at one node, by one way."""
        for signature, makers in self.makers.items():
            if len(self.users[signature]) == 1:
                self.model.add_at_most_one(self.run[r] for runs in makers.values() for r in runs)
            else:
                self.complete = False  # of two loads of a stream that is shared, the larger counts
                for runs in makers.values():
                    self.model.add_at_most_one(self.run[r] for r in runs)

    def _capacities(self) -> None:
        parts: dict[Capacity, list[tuple[Any, float]]] = {}
        for run, (cpu, memory) in self.loads.items():
            parts.setdefault(("cpu", run.node, 0), []).append((self.run[run], cpu))
            parts.setdefault(("memory", run.node, 0), []).append((self.run[run], memory))
        for key, flow in self.flow.items():
            signature, a, b = key
            if key not in self.ledger.flows:
                for capacity in (("egress", a, 0), ("ingress", b, 0), ("link", a, b)):
                    parts.setdefault(capacity, []).append((flow, self.rate[signature]))
        for capacity, loads in parts.items():
            free = self.free(capacity)
            if isfinite(free) and sum(load for _, load in loads) > free:
                self._limit(capacity, free, [(at, load) for at, load in loads if load > 0])

    def _limit(self, capacity: Capacity, free: float, loads: Sequence[tuple[Any, float]]) -> None:
        unit = free if free > 0 else max(load for _, load in loads)
        # rounded so that nothing possible is lost, and that what an elastic program adds suffices
        whole, fitting = (ceil, floor) if self.elastic else (floor, ceil)
        total = sum(whole(SCALE * min(load / unit, 1e6)) * at for at, load in loads)
        fit = fitting(SCALE * (free / unit) * (1 + TOLERANCE))
        if self.elastic:
            most = int(SCALE * min(sum(load for _, load in loads) / unit, 1e9)) + SCALE
            excess = self.model.new_int_var(0, most, "")
            self.excess[capacity] = excess, unit
            self.model.add(total <= fit + excess)
        else:
            self.model.add(total <= fit)

    def free(self, capacity: Capacity) -> float:
        """What the ledger leaves of it."""
        kind, a, b = capacity
        if kind != "link":
            return float(getattr(self.ledger, kind)[a])
        if not self.ledger.bounded_links:
            return inf
        return self.ledger.network.link_bandwidth(a, b) - self.ledger.link_used.get(a, {}).get(b, 0.0)

    def _in_time(self, task: Task) -> None:
        """Ticks until each stream of a query is made and read, rounded down: nothing possible is lost."""
        space, problem = task.space, self.ledger.problem
        limit = int(np.ceil(space.query.max_latency / TICK))
        mine = set(space.signatures)
        ready = {s: self.model.new_int_var(0, limit, "") for s in mine}
        arrived = {s: self.model.new_int_var(0, limit, "") for s in mine}
        for (signature, a, b), flow in self.flow.items():
            if signature in mine:
                ticks = int(problem.cluster.network.link_latency(a, b) / TICK)
                self.model.add(arrived[signature] >= ready[signature] + ticks).only_enforce_if(flow)
        for signature in mine:
            self.model.add(arrived[signature] >= ready[signature])
        own = {(s, tuple(sorted(space.signatures[i] for i in space.ways.inputs_of(w)))): w
               for t, s in enumerate(space.signatures)
               for w in range(int(space.ways.start[t]), int(space.ways.start[t + 1]))}  # fmt: skip
        for run, literal in self.run.items():
            way = own.get((run.signature, run.inputs))
            if way is None:
                continue
            speed = problem.cluster.nodes[run.node].speed
            ticks = int(sum(op.cost for op in space.recipes[way]) / (REFERENCE_CORE * speed) / TICK)
            for signature in run.inputs:
                self.model.add(ready[run.signature] >= arrived[signature] + ticks).only_enforce_if(literal)

    def _objective(self) -> None:
        network = self.ledger.network
        costs = {
            key: self.rate[key[0]] * network.link_latency(key[1], key[2])
            for key in self.flow
            if key not in self.ledger.flows
        }
        self.unit = (max(costs.values(), default=0.0) or 1.0) / COSTS
        if self.elastic:
            self.model.minimize(sum(excess for excess, _ in self.excess.values()))
        else:
            self.model.minimize(sum(int(cost / self.unit) * self.flow[key] for key, cost in costs.items()))

    def hint(self) -> None:
        """Starts from the plans that the tasks know."""
        if any(task.hint is None for task in self.tasks):
            return
        used: set[Any] = set()
        for task in self.tasks:
            assert task.hint is not None
            space = task.space
            used.update(key for key, _ in flows(space, task.hint.root, task.hint.sink))
            for step in steps(task.hint.root):
                if step.way >= 0:
                    inputs = tuple(sorted(space.signatures[i] for i in space.ways.inputs_of(step.way)))
                    used.add(Run(space.signatures[step.stream], inputs, step.node))
        for key, literal in self.literals():
            self.model.add_hint(literal, key in used)
