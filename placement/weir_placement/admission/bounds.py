"""What no planner can do better, or could do if the hosts were one: SQPR's optimistic bound, and first come
first served on the aggregate host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isfinite
from typing import Any

import numpy as np

from weir_placement.admission.abstract_plans import AbstractPlan, abstract_plans
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.system import StreamSystem


def aggregate_fcfs(system: StreamSystem, requests: Sequence[StreamRequest]) -> list[bool]:
    """Which queries one host with everything admits, in their order: each by the operators that cost it
    least CPU besides those that run.

    It is no bound: who refuses a dear query early may admit more later.
    """
    cpu = sum(host.cpu for host in system.hosts)
    memory = sum(host.memory for host in system.hosts)
    running: set[int] = set()
    admitted = []
    for request in requests:
        fits = []
        for plan in abstract_plans(system, request.stream):
            added = _added(system, plan, request.stream, running)
            needs = [sum(getattr(system.operators[o], kind) for o in added) for kind in ("cpu", "memory")]
            if needs[0] <= cpu * (1 + 1e-9) and needs[1] <= memory * (1 + 1e-9):
                fits.append((needs[0], needs[1], sorted(added)))
        admitted.append(bool(fits))
        if fits:
            least = min(fits)
            cpu, memory = cpu - least[0], memory - least[1]
            running.update(least[2])
    return admitted


def _added(system: StreamSystem, plan: AbstractPlan, query: int, running: set[int]) -> set[int]:
    """The operators of an abstract plan that do not run yet, and are needed with those that do."""
    added: set[int] = set()
    stack = [query]
    while stack:
        stream = stack.pop()
        if stream in plan and not running.intersection(system.makers[stream]):
            added.add(plan[stream])
            stack.extend(system.operators[plan[stream]].inputs)
    return added


@dataclass
class _BoundRows:
    """Sparse rows `sum of coefficients x variables <= limit`."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def add(self, parts: Sequence[tuple[int, float]], limit: float) -> None:
        for column, coefficient in parts:
            self.rows.append(len(self.limits))
            self.columns.append(column)
            self.coefficients.append(coefficient)
        self.limits.append(limit)


@dataclass
class _BoundColumns:
    """Variables >= 0 of the linear program, by what they stand for."""

    index: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def of(self, kind: str, number: int, host: int = -1) -> int:
        return self.index.setdefault((kind, number, host), len(self.index))


def optimistic_bound(system: StreamSystem, queries: Sequence[int], *, network: bool = True) -> int:
    """At most so many of these streams can be served together, by whatever plan.

    SQPR's bound has one aggregate host, and so no network. Here it is a linear program of that host; with
    `network`, what hosts must receive and send counts as well:

    * an operator runs at a host where some of its base streams enter, or elsewhere, and all that run at a
    host share
      its CPU;
    * a base stream is received by each host that reads it and where it does not enter, and these are at
    least as
      many as its readers elsewhere would fill with the CPU of the largest host, and at least one for one
      reader;
    * all hosts together receive no more than all ingress, and send no more than all egress.

    Raises:
        RuntimeError: the program has no solution, which cannot be: nothing served is one.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    related = system.related(*queries)
    columns, rows = _BoundColumns(), _BoundRows()
    for query in dict.fromkeys(queries):
        rows.add([(columns.of("served", query), 1.0)], 1.0)
        if not system.streams[query].origins:
            rows.add([(columns.of("served", query), 1.0), (columns.of("made", query), -1.0)], 0.0)
    for stream in sorted(related.streams):
        if not system.streams[stream].origins:
            ways = [(columns.of("used", o), -1.0) for o in system.makers[stream]]
            rows.add([(columns.of("made", stream), 1.0), *ways], 0.0)
            rows.add([(columns.of("made", stream), 1.0)], 1.0)
    readers: dict[int, list[int]] = {}
    for o in sorted(related.operators):
        for stream in system.operators[o].inputs:
            if system.streams[stream].origins:
                readers.setdefault(stream, []).append(o)
            else:
                rows.add([(columns.of("used", o), 1.0), (columns.of("made", stream), -1.0)], 0.0)
        runs = [(columns.of("run", o, host), -1.0) for host in _sites(system, o, network)]
        rows.add([(columns.of("used", o), 1.0), *runs], 0.0)
    _processors(system, sorted(related.operators), columns, rows, network)
    if network:
        _network(system, list(dict.fromkeys(queries)), readers, columns, rows)
    count = len(columns.index)
    costs = np.zeros(count)
    for (kind, _, _), column in columns.index.items():
        if kind == "served":
            costs[column] = -1.0
    matrix = csr_matrix((rows.coefficients, (rows.rows, rows.columns)), shape=(len(rows.limits), count))
    result: Any = linprog(costs, A_ub=matrix, b_ub=rows.limits, bounds=(0, None), method="highs")  # type: ignore[call-overload]
    if result.status != 0:
        raise RuntimeError(f"optimistic bound: {result.message}")
    return floor(-float(result.fun) + 1e-6)


def _sites(system: StreamSystem, operator: int, network: bool) -> list[int]:
    """Hosts where one of its inputs enters, and -1: elsewhere."""
    if not network:
        return [-1]
    inputs = system.operators[operator].inputs
    return [*sorted({host for stream in inputs for host in system.streams[stream].origins}), -1]


def _processors(
    system: StreamSystem, operators: Sequence[int], columns: _BoundColumns, rows: _BoundRows, network: bool
) -> None:
    """CPU and memory of all hosts together, and of each."""
    for kind in ("cpu", "memory"):
        everywhere: list[tuple[int, float]] = []
        at: dict[int, list[tuple[int, float]]] = {}
        for o in operators:
            for host in _sites(system, o, network):
                part = columns.of("run", o, host), float(getattr(system.operators[o], kind))
                everywhere.append(part)
                at.setdefault(host, []).append(part)
        total = sum(getattr(host, kind) for host in system.hosts)
        if isfinite(total):
            rows.add(everywhere, total)
        for host, parts in at.items():
            if host >= 0 and isfinite(getattr(system.hosts[host], kind)):
                rows.add(parts, getattr(system.hosts[host], kind))


def _network(
    system: StreamSystem,
    queries: Sequence[int],
    readers: dict[int, list[int]],
    columns: _BoundColumns,
    rows: _BoundRows,
) -> None:
    """What is received of base streams, and what that leaves to send."""
    largest = max(host.cpu for host in system.hosts)
    received = []
    for stream, operators in sorted(readers.items()):
        column = columns.of("received", stream)
        received.append((column, system.streams[stream].rate))
        together = []
        for o in operators:
            away = [
                columns.of("run", o, host)
                for host in _sites(system, o, True)
                if host not in system.streams[stream].origins
            ]
            rows.add([*((run, 1.0) for run in away), (column, -1.0)], 0.0)
            together += [(run, system.operators[o].cpu / largest) for run in away if largest > 0]
        rows.add([*together, (column, -1.0)], 0.0)
    ingress = sum(host.ingress for host in system.hosts)
    egress = sum(host.egress for host in system.hosts)
    if isfinite(ingress):
        rows.add(received, ingress)
    if isfinite(egress):
        served = [(columns.of("served", query), system.streams[query].rate) for query in queries]
        rows.add([*received, *served], egress)
