"""`sqpr-heuristic`: every abstract plan at every host, the best that fits (SQPR, V.A, "Heuristic planner").

A host that has part of the plan's streams already, or can receive them, does so: complete sub-queries
rather than what they are made of. All operators that are missing run at the one host. Nothing that runs is
touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from weir_placement.admission.abstract_plans import AbstractPlan, abstract_plans
from weir_placement.admission.allocation import (
    Allocation,
    HostStream,
    MadeBy,
    Provider,
    ReceivedFrom,
    ResourceUse,
    resource_use,
)
from weir_placement.admission.objective import Scales, Weights, scales
from weir_placement.admission.request import Demand
from weir_placement.admission.system import StreamSystem
from weir_placement.admission.walk import SLACK


@dataclass
class ImplementedPlan:
    """A plan that is being implemented at a host: what it adds there and at those that send to it."""

    host: int
    providers: dict[HostStream, Provider] = field(default_factory=dict)
    cpu: float = 0.0
    memory: float = 0.0
    ingress: float = 0.0
    sent: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Occupancy:
    """An allocation with what it uses and which hosts have which streams.

    Attributes:
        holders: by stream, the hosts that have it; base streams are at their origins too.
    """

    system: StreamSystem
    allocation: Allocation
    use: ResourceUse
    holders: dict[int, set[int]]

    @staticmethod
    def of(system: StreamSystem, allocation: Allocation) -> Occupancy:
        """O(providers)."""
        holders: dict[int, set[int]] = {}
        for host, stream in allocation.providers:
            holders.setdefault(stream, set()).add(host)
        return Occupancy(system, allocation, resource_use(system, allocation), holders)

    def at(self, stream: int) -> set[int]:
        """The hosts that have a stream."""
        origins = self.system.streams[stream].origins
        return self.holders.get(stream, set()) | origins if origins else self.holders.get(stream, set())


def sqpr_heuristic(
    system: StreamSystem, allocation: Allocation, demand: Demand, weights: Weights, only: Iterable[int] = ()
) -> Allocation | None:
    """The allocation with this query besides, or None where no host can have it.

    Args:
        only: the hosts to try; none: all.

    Cost: O(abstract plans x hosts x (operators of a plan + hosts that have its streams)).
    """
    hosts = list(only) or list(range(len(system.hosts)))
    plans = list(abstract_plans(system, demand.stream))
    unit = scales(system)
    serving = list(allocation.served.get(demand.stream, ()))
    while len(serving) < demand.copies:
        occupancy = Occupancy.of(system, allocation)
        trial = _best(occupancy, plans, [h for h in hosts if h not in serving], demand.stream, weights, unit)
        if trial is None:
            return None
        serving.append(trial.host)
        allocation = allocation.with_changes(trial.providers, {demand.stream: tuple(serving)})
    return allocation


def _best(
    occupancy: Occupancy,
    plans: list[AbstractPlan],
    hosts: list[int],
    query: int,
    weights: Weights,
    unit: Scales,
) -> ImplementedPlan | None:
    best: tuple[float, ImplementedPlan] | None = None
    fullest = float(occupancy.use.cpu.max(initial=0.0))
    for host in hosts:
        for plan in plans:
            trial = _implement(occupancy, plan, host, query)
            if trial is None:
                continue
            largest = max(fullest, float(occupancy.use.cpu[host]) + trial.cpu)
            price = (
                weights.network * trial.ingress / unit.network
                + weights.cpu * trial.cpu / unit.cpu
                + weights.balance * (largest - fullest) / unit.largest
            )
            if best is None or price < best[0]:
                best = price, trial
            if (host, query) in occupancy.allocation.providers:
                break  # it is there: all abstract plans are one
    return None if best is None else best[1]


def _implement(occupancy: Occupancy, plan: AbstractPlan, host: int, query: int) -> ImplementedPlan | None:
    """The plan at a host, receiving all that it can, or None where it does not fit."""
    system, use = occupancy.system, occupancy.use
    capacity = system.hosts[host]
    room = 1 + SLACK
    trial = ImplementedPlan(host, sent={host: system.streams[query].rate})
    if use.egress[host] + trial.sent[host] > capacity.egress * room:
        return None
    missing = [query]
    while missing:
        stream = missing.pop()
        holders = occupancy.at(stream)
        if host in holders or (host, stream) in trial.providers:
            continue
        sender = _sender(occupancy, trial, stream, holders)
        if sender is not None:
            rate = system.streams[stream].rate
            trial.providers[host, stream] = ReceivedFrom(sender)
            trial.ingress += rate
            trial.sent[sender] = trial.sent.get(sender, 0.0) + rate
        elif stream in plan:
            operator = system.operators[plan[stream]]
            trial.providers[host, stream] = MadeBy(plan[stream])
            trial.cpu += operator.cpu
            trial.memory += operator.memory
            if use.cpu[host] + trial.cpu > capacity.cpu * room:
                return None
            if use.memory[host] + trial.memory > capacity.memory * room:
                return None
            missing.extend(operator.inputs)
        else:
            return None
    return trial


def _sender(occupancy: Occupancy, trial: ImplementedPlan, stream: int, holders: set[int]) -> int | None:
    """Of the hosts that have the stream and can send it, the one with the most left to send."""
    system, use, host = occupancy.system, occupancy.use, trial.host
    rate = system.streams[stream].rate
    room = 1 + SLACK
    if not holders or use.ingress[host] + trial.ingress + rate > system.hosts[host].ingress * room:
        return None
    best, most = None, 0.0
    for sender in sorted(holders):
        load = float(use.egress[sender]) + trial.sent.get(sender, 0.0) + rate
        capacity = system.hosts[sender].egress
        if load > capacity * room:
            continue
        if system.bandwidth is not None:
            between = use.links.get((sender, host), 0.0) + sum(
                system.streams[other].rate
                for (_, other), provider in trial.providers.items()
                if provider == ReceivedFrom(sender)
            )
            if between + rate > system.link(sender, host) * room:
                continue
        left = capacity - load
        if best is None or left > most:
            best, most = sender, left
    return best
