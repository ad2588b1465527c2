"""`soda`: admission first, placement after it, by templates that users give (SQPR, V.B, its comparator).

As the paper runs it: macroQ admits by what all hosts have together, macroW places what is new by an integer
program that balances loads, miniW places it where macroW has nothing in time, and then improves the
placement by moving single operators. Templates are glued: a stream is made once, and goes from there,
without relays, once to each host that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic

from weir_placement.admission.abstract_plans import AbstractPlan, abstract_plans
from weir_placement.admission.allocation import Allocation, HostStream, MadeBy, Provider, ReceivedFrom
from weir_placement.admission.macro_placement import place
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.room import overloaded
from weir_placement.admission.solve import SolverLimits
from weir_placement.admission.system import StreamSystem


def first_template(system: StreamSystem, query: int) -> AbstractPlan:
    """The first abstract plan, as if the user had written that."""
    return next(iter(abstract_plans(system, query, 1)))


class SodaPlanner:
    """Plans epochs of queries.

    Attributes:
        runs: operator -> the one host that runs it.
        makers: composite stream -> the operator of the template that made it first.
        served: query stream -> the host that serves it: where it is made, or enters.
    """

    def __init__(
        self,
        system: StreamSystem,
        limits: SolverLimits | None = None,
        template: Callable[[StreamSystem, int], AbstractPlan] = first_template,
    ) -> None:
        self.system = system
        self.limits = limits or SolverLimits()
        self.template = template
        self.runs: dict[int, int] = {}
        self.makers: dict[int, int] = {}
        self.served: dict[int, int] = {}

    @property
    def allocation(self) -> Allocation:
        """What runs and flows."""
        return direct(self.system, self.runs, self.makers, self.served)

    def epoch(self, requests: Sequence[StreamRequest]) -> list[bool]:
        """Which queries are admitted and placed, by rank: priority, then order.

        A query that macroQ admits and nobody can place does not run.
        """
        passed = self._macro_q(sorted(requests, key=lambda r: -r.priority))
        done = {request.name: self._place(request) for request in passed}
        return [done.get(request.name, False) for request in requests]

    def _macro_q(self, ranked: Sequence[StreamRequest]) -> list[StreamRequest]:
        """Those for which all hosts together have enough."""
        operators = self.system.operators
        left = {
            kind: sum(getattr(host, kind) for host in self.system.hosts)
            - sum(getattr(operators[o], kind) for o in self.runs)
            for kind in ("cpu", "memory")
        }
        counted = set(self.makers)
        passed = []
        for request in ranked:
            added = {s: o for s, o in self._glued(request.stream).items() if s not in counted}
            needs = {kind: sum(getattr(operators[o], kind) for o in added.values()) for kind in left}
            if all(needs[kind] <= left[kind] * (1 + 1e-9) for kind in left):
                passed.append(request)
                counted.update(added)
                left = {kind: left[kind] - needs[kind] for kind in left}
        return passed

    def _glued(self, query: int) -> dict[int, int]:
        """What the template adds to what is made: stream -> operator."""
        plan = self.template(self.system, query)
        added: dict[int, int] = {}
        stack = [query]
        while stack:
            stream = stack.pop()
            if stream in plan and stream not in self.makers:
                added[stream] = plan[stream]
                stack.extend(self.system.operators[plan[stream]].inputs)
        return added

    def _place(self, request: StreamRequest) -> bool:
        """macroW, else miniW; then miniW's moves."""
        if request.stream in self.served:
            return True
        added = self._glued(request.stream)
        makers = {**self.makers, **added}
        deadline = monotonic() + self.limits.wall
        runs = place(self.system, self.allocation, added, request.stream, self.limits, deadline)
        if runs is None:
            runs = self._mini_w(added, makers)
        if runs is None:
            return False
        after = {**self.runs, **runs}
        host = _source(self.system, after, makers, request.stream)
        served = {**self.served, request.stream: host}
        if overloaded(self.system, direct(self.system, after, makers, served)):
            return False
        self.runs, self.makers, self.served = after, makers, served
        self._improve()
        return True

    def _mini_w(self, added: Mapping[int, int], makers: Mapping[int, int]) -> dict[int, int] | None:
        """Each operator, inputs first, at the host with the least load where it fits."""
        runs: dict[int, int] = {}
        for stream in sorted(added, key=lambda s: (self.system.depths[s], s)):
            operator = added[stream]
            for host in self._by_load({**self.runs, **runs}):
                trial = {**self.runs, **runs, operator: host}
                if not overloaded(self.system, direct(self.system, trial, makers, self.served)):
                    runs[operator] = host
                    break
            else:
                return None
        return runs

    def _by_load(self, runs: Mapping[int, int]) -> list[int]:
        load = [0.0] * len(self.system.hosts)
        for operator, host in runs.items():
            load[host] += self.system.operators[operator].cpu
        return sorted(range(len(load)), key=lambda host: (load[host], host))

    def _improve(self) -> None:
        """Moves single operators off the fullest host, as long as that makes the fullest less full."""
        while True:
            order = self._by_load(self.runs)
            fullest = order[-1]
            before = self._load(fullest)
            for operator in sorted(o for o, host in self.runs.items() if host == fullest):
                target = order[0]
                cpu = self.system.operators[operator].cpu
                if (
                    cpu > 0
                    and self._load(target) + cpu < before * (1 - 1e-9)
                    and self._move(operator, target)
                ):
                    break
            else:
                return

    def _load(self, host: int) -> float:
        return sum(self.system.operators[o].cpu for o, h in self.runs.items() if h == host)

    def _move(self, operator: int, target: int) -> bool:
        runs = {**self.runs, operator: target}
        output = self.system.operators[operator].output
        served = {**self.served, output: target} if output in self.served else self.served
        if overloaded(self.system, direct(self.system, runs, self.makers, served)):
            return False
        self.runs, self.served = runs, served
        return True


def direct(
    system: StreamSystem, runs: Mapping[int, int], makers: Mapping[int, int], served: Mapping[int, int]
) -> Allocation:
    """Each stream from where it is made, or first enters, to all hosts that read it."""
    providers: dict[HostStream, Provider] = {}
    for operator, host in runs.items():
        providers[host, system.operators[operator].output] = MadeBy(operator)
        for stream in system.operators[operator].inputs:
            if host in system.streams[stream].origins:
                continue
            sender = _source(system, runs, makers, stream)
            if sender != host:
                providers[host, stream] = ReceivedFrom(sender)
    return Allocation(providers, {query: (host,) for query, host in served.items()})


def _source(system: StreamSystem, runs: Mapping[int, int], makers: Mapping[int, int], stream: int) -> int:
    origins = system.streams[stream].origins
    return min(origins) if origins else runs[makers[stream]]
