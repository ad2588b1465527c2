"""SODA's macroW: hosts for the operators of a template, so that the fullest host is as little full as
possible."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from time import monotonic
from typing import Any

from weir_placement.admission.allocation import Allocation, MadeBy, resource_use
from weir_placement.admission.solve import SolverLimits
from weir_placement.admission.system import StreamSystem
from weir_placement.admission.whole_numbers import whole_numbers

LOADS = 1_000_000
"""Loads of hosts in the objective, as whole numbers: of the largest host's CPU."""


def place(
    system: StreamSystem,
    allocation: Allocation,
    added: Mapping[int, int],
    query: int,
    limits: SolverLimits,
    deadline: float,
) -> dict[int, int] | None:
    """Operator -> host for the operators that make `added` streams; None where nothing was found in time.

    What runs stays; a stream goes from its one maker, or where it first enters, to each host that reads it.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    hosts = range(len(system.hosts))
    at = {(o, h): model.new_bool_var("") for o in added.values() for h in hosts}
    for operator in added.values():
        model.add_exactly_one(at[operator, host] for host in hosts)
    loads: dict[tuple[str, int, int], list[tuple[Any, float]]] = {}
    for operator, host in at:
        for kind in ("cpu", "memory"):
            amount = float(getattr(system.operators[operator], kind))
            loads.setdefault((kind, host, host), []).append((at[operator, host], amount))
    for (sender, host, stream), flow in _flows(model, system, allocation, added, at).items():
        rate = system.streams[stream].rate
        for limited in (("egress", sender, sender), ("ingress", host, host), ("link", sender, host)):
            loads.setdefault(limited, []).append((flow, rate))
    for host in hosts:
        if query in added:
            loads[("egress", host, host)] = [
                *loads.get(("egress", host, host), []),
                (at[added[query], host], system.streams[query].rate),
            ]
    use = resource_use(system, allocation)
    for (kind, host, other), parts in loads.items():
        fixed = use.links.get((host, other), 0.0) if kind == "link" else float(getattr(use, kind)[host])
        capacity = system.link(host, other) if kind == "link" else float(getattr(system.hosts[host], kind))
        if isfinite(capacity):
            counts, most, _ = whole_numbers([load for _, load in parts], max(capacity - fixed, 0.0), capacity)
            model.add(sum(c * literal for c, (literal, _) in zip(counts, parts, strict=True)) <= most)
    largest = max((host.cpu for host in system.hosts if isfinite(host.cpu)), default=1.0) or 1.0
    whole = [round(float(load) / largest * LOADS) for load in use.cpu]
    work = {operator: round(system.operators[operator].cpu / largest * LOADS) for operator in added.values()}
    fullest = model.new_int_var(0, max(whole) + sum(work.values()), "")
    for host in hosts:
        model.add(fullest >= whole[host] + sum(work[o] * at[o, host] for o in added.values()))
    model.minimize(fullest)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = limits.seed
    solver.parameters.max_deterministic_time = limits.work
    if isfinite(deadline):
        solver.parameters.max_time_in_seconds = max(deadline - monotonic(), 1e-3)
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return {operator: host for (operator, host), literal in at.items() if solver.value(literal)}


def _flows(
    model: Any,
    system: StreamSystem,
    allocation: Allocation,
    added: Mapping[int, int],
    at: Mapping[tuple[int, int], Any],
) -> dict[tuple[int, int, int], Any]:
    """(sender, receiver, stream) -> whether it has to flow, for what does not flow yet."""
    makers = {s: h for (h, s), provider in allocation.providers.items() if isinstance(provider, MadeBy)}
    flows: dict[tuple[int, int, int], Any] = {}
    for operator in added.values():
        for stream in system.operators[operator].inputs:
            for host in range(len(system.hosts)):
                if host in system.streams[stream].origins or (host, stream) in allocation.providers:
                    continue
                if stream in added:
                    senders = [(g, [at[added[stream], g]]) for g in range(len(system.hosts)) if g != host]
                else:
                    origins = system.streams[stream].origins
                    senders = [(min(origins) if origins else makers[stream], [])]
                for sender, conditions in senders:
                    key = sender, host, stream
                    if key not in flows:
                        flows[key] = model.new_bool_var("")
                    reads = [~literal for literal in (at[operator, host], *conditions)]
                    model.add_bool_or([flows[key], *reads])
    return flows
