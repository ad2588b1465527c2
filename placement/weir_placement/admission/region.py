"""What one decision may change: only what is related to its queries, the rest is fixed (SQPR, IV.A, line
4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir_placement.admission.allocation import (
    Allocation,
    HostStream,
    MadeBy,
    Provider,
    ResourceUse,
    resource_use,
)
from weir_placement.admission.request import Demand
from weir_placement.admission.system import Related, StreamSystem

ALL_HOSTS = 10**9


@dataclass(frozen=True)
class RelatedRegion:
    """A part of the plan that is solved anew, within what the rest leaves.

    Attributes:
        related: S(q) and O(q) of the new queries.
        before: the allocation to which queries are added.
        running: what really runs, of which moves are counted; another one where queries were taken out.
        fixed: its part that stays: providers of unrelated streams, and who serves unrelated queries.
        use: of `fixed`.
        pinned: related streams that fixed operators read at their hosts, and so must stay there, from
            wherever.
        hosts: where related operators may run and related streams go, besides where they are now.
    """

    system: StreamSystem
    related: Related
    before: Allocation
    running: Allocation
    fixed: Allocation
    use: ResourceUse
    pinned: frozenset[HostStream]
    hosts: tuple[int, ...]


def region(
    system: StreamSystem,
    before: Allocation,
    new: Sequence[Demand],
    most_hosts: int = ALL_HOSTS,
    first: Sequence[int] = (),
    running: Allocation | None = None,
) -> RelatedRegion:
    """The part that is related to new queries.

    Args:
        most_hosts: the model has at most these many (SQPR has all, and its planning time grows with them):
            those that `first` names, then those with the most CPU left for each related stream that they
            lack.
    """
    related = system.related(*(demand.stream for demand in new))
    providers: dict[HostStream, Provider] = {}
    pinned: set[HostStream] = set()
    for at, provider in before.providers.items():
        host, stream = at
        if stream in related.streams:
            continue
        providers[at] = provider
        if isinstance(provider, MadeBy):
            for needed in system.operators[provider.operator].inputs:
                if needed in related.streams and host not in system.streams[needed].origins:
                    pinned.add((host, needed))
    served = {query: hosts for query, hosts in before.served.items() if query not in related.streams}
    fixed = Allocation(providers, served)
    use = resource_use(system, fixed)
    hosts = _hosts(system, before, related, use, most_hosts, first)
    return RelatedRegion(system, related, before, running or before, fixed, use, frozenset(pinned), hosts)


def _hosts(
    system: StreamSystem,
    before: Allocation,
    related: Related,
    use: ResourceUse,
    most: int,
    first: Sequence[int],
) -> tuple[int, ...]:
    count = len(system.hosts)
    if most >= count:
        return tuple(range(count))
    present = [0] * count
    for host, stream in before.providers:
        present[host] += stream in related.streams
    for stream in related.streams:
        for host in system.streams[stream].origins:
            present[host] += 1
    left = [system.hosts[host].cpu - float(use.cpu[host]) for host in range(count)]
    order = sorted(range(count), key=lambda host: (-left[host] * (1 + present[host]), host))
    return tuple(sorted(list(dict.fromkeys((*first, *order)))[:most]))
