"""Plans of all admitted queries together: who provides which stream where, and what that uses.

SQPR's variables are y (a host has a stream), x (a flow), z (a host runs an operator) and d (a host serves a
query). Where a host has a stream it needs one provider of it: an operator of its own or one flow. So a plan
is a map from (host, stream) to that provider, of which x, y and z are read, and from queries to the hosts
that serve them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from weir_placement.admission.system import StreamSystem
from weir_placement.array_types import Floats


class MadeBy(NamedTuple):
    """The host runs this operator: z = 1."""

    operator: int


class ReceivedFrom(NamedTuple):
    """This host sends the stream: x = 1."""

    sender: int


HostStream = tuple[int, int]
"""(host, stream): y = 1 where an allocation has it."""

Provider = MadeBy | ReceivedFrom


@dataclass(frozen=True)
class Allocation:
    """What runs and flows where.

    Attributes:
        providers: of each stream that a host has and that does not enter there.
        served: the hosts that send a query's result to its clients, d = 1.
    """

    providers: Mapping[HostStream, Provider] = field(default_factory=dict)
    served: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def with_changes(
        self, providers: Mapping[HostStream, Provider], served: Mapping[int, tuple[int, ...]]
    ) -> Allocation:
        """These besides those that there are."""
        return Allocation({**self.providers, **providers}, {**self.served, **served})

    def has(self, system: StreamSystem, host: int, stream: int) -> bool:
        """y: the stream is at the host."""
        return (host, stream) in self.providers or host in system.streams[stream].origins


def used_by(system: StreamSystem, allocation: Allocation, queries: Iterable[int]) -> set[HostStream]:
    """The (host, stream) that these served queries rest on, base streams where they enter left out."""
    stack = [(host, query) for query in queries for host in allocation.served[query]]
    used: set[HostStream] = set()
    while stack:
        at = stack.pop()
        if at in used or at not in allocation.providers:
            continue
        used.add(at)
        host, stream = at
        match allocation.providers[at]:
            case MadeBy(operator):
                stack.extend((host, needed) for needed in system.operators[operator].inputs)
            case ReceivedFrom(sender):
                stack.append((sender, stream))
    return used


def only_serving(system: StreamSystem, allocation: Allocation, queries: Iterable[int]) -> Allocation:
    """The part of an allocation on which these queries rest: what only others used is freed."""
    keep = [query for query in allocation.served if query in set(queries)]
    used = used_by(system, allocation, keep)
    return Allocation(
        {at: provider for at, provider in allocation.providers.items() if at in used},
        {query: allocation.served[query] for query in keep},
    )


@dataclass
class ResourceUse:
    """Loads of hosts and links.

    Attributes:
        cpu: shape (hosts,) [CPU-us/s]; so are memory [bytes], egress and ingress [bytes/s].
        links: by (sender, receiver) [bytes/s].
    """

    cpu: Floats
    memory: Floats
    egress: Floats
    ingress: Floats
    links: dict[tuple[int, int], float]

    @staticmethod
    def none(hosts: int) -> ResourceUse:
        """Of a system where nothing runs."""
        return ResourceUse(np.zeros(hosts), np.zeros(hosts), np.zeros(hosts), np.zeros(hosts), {})

    def add(self, system: StreamSystem, at: HostStream, provider: Provider, times: float = 1.0) -> None:
        """What one provider takes; `times` -1 gives it back."""
        host, stream = at
        match provider:
            case MadeBy(operator):
                self.cpu[host] += times * system.operators[operator].cpu
                self.memory[host] += times * system.operators[operator].memory
            case ReceivedFrom(sender):
                rate = times * system.streams[stream].rate
                self.egress[sender] += rate
                self.ingress[host] += rate
                self.links[sender, host] = self.links.get((sender, host), 0.0) + rate


def resource_use(system: StreamSystem, allocation: Allocation) -> ResourceUse:
    """The left sides of III.6a to III.6d. O(providers)."""
    use = ResourceUse.none(len(system.hosts))
    for at, provider in allocation.providers.items():
        use.add(system, at, provider)
    for query, hosts in allocation.served.items():
        for host in hosts:
            use.egress[host] += system.streams[query].rate
    return use
