"""What a plan is worth: l1 O1 - l2 O2 - l3 O3 - l4 O4 (SQPR, III.2 and III.3), each part without a unit."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from weir_placement.admission.allocation import Allocation, MadeBy, ReceivedFrom, resource_use
from weir_placement.admission.system import StreamSystem


class Objectives(NamedTuple):
    """O1 to O4: queries served, bytes/s over the network, CPU-us/s in all and on the host that has most."""

    admitted: float
    network: float
    cpu: float
    largest: float


@dataclass(frozen=True)
class Weights:
    """l1 to l4, and the price of a move.

    The paper's printed weights mix units, and its l3 = 1 / sum kappa would measure CPU in bandwidths; here
    each of O2, O3 and O4 is divided by the most that it can be, so each is between 0 and 1.

    Attributes:
        admitted: l1, for each query; more than the others together, so admission comes first.
        network: l2, of what flows between hosts as a part of all bandwidth.
        cpu: l3, of the CPU that is used as a part of all CPU. Larger than `balance`: few operators,
            consolidated.
        balance: l4, of the CPU of the fullest host as a part of the largest host's. Larger than `cpu`: even
            loads.
        move: for each operator that leaves its host, and each stream that leaves the host which served it.

    Raises:
        ValueError: a weight is negative, or the others are together as much as `admitted`.
    """

    admitted: float = 4.0
    network: float = 1.0
    cpu: float = 1.0
    balance: float = 1.0
    move: float = 0.0

    def __post_init__(self) -> None:
        for field in ("admitted", "network", "cpu", "balance", "move"):
            value = getattr(self, field)
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"weights: {field} is {value}; it must be finite, 0 or more")
        if self.admitted <= self.network + self.cpu + self.balance:
            raise ValueError(
                f"weights: admitted is {self.admitted}; it must be more than network + cpu + balance, "
                f"{self.network + self.cpu + self.balance}, or saving resources would refuse queries"
            )


class Scales(NamedTuple):
    """The most that O2, O3 and O4 can be."""

    network: float
    cpu: float
    largest: float


def scales(system: StreamSystem) -> Scales:
    """sum beta, sum zeta and max zeta; a host's infinite beta counts as all streams that it could receive."""
    everything = sum(stream.rate for stream in system.streams)
    egress = sum(h.egress if isfinite(h.egress) else everything * len(system.hosts) for h in system.hosts)
    ingress = sum(h.ingress if isfinite(h.ingress) else everything for h in system.hosts)
    work = sum(operator.cpu for operator in system.operators)
    cpu = [host.cpu if isfinite(host.cpu) else work for host in system.hosts]
    return Scales(min(egress, ingress) or 1.0, sum(cpu) or 1.0, max(cpu, default=0.0) or 1.0)


def objectives(system: StreamSystem, allocation: Allocation) -> Objectives:
    """O1 to O4 of an allocation. O(providers)."""
    use = resource_use(system, allocation)
    network = sum(
        system.streams[stream].rate
        for (_, stream), provider in allocation.providers.items()
        if isinstance(provider, ReceivedFrom)
    )
    return Objectives(len(allocation.served), network, float(use.cpu.sum()), float(use.cpu.max(initial=0.0)))


def moves(before: Allocation, after: Allocation) -> int:
    """Operators that left the host where they ran `before`, and queries that another host serves."""
    running = {p.operator for p in after.providers.values() if isinstance(p, MadeBy)}
    kept = {(h, p.operator) for (h, _), p in after.providers.items() if isinstance(p, MadeBy)}
    left = sum(
        isinstance(p, MadeBy) and p.operator in running and (h, p.operator) not in kept
        for (h, _), p in before.providers.items()
    )
    return left + sum(
        host not in after.served[query]
        for query, hosts in before.served.items()
        if query in after.served
        for host in hosts
    )


def worth(system: StreamSystem, allocation: Allocation, weights: Weights) -> float:
    """III.3, larger is better. The price of moves is not in it."""
    parts, unit = objectives(system, allocation), scales(system)
    return (
        weights.admitted * parts.admitted
        - weights.network * parts.network / unit.network
        - weights.cpu * parts.cpu / unit.cpu
        - weights.balance * parts.largest / unit.largest
    )
