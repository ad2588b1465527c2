"""Where an allocation has more to carry than there is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weir_placement.admission.allocation import Allocation, resource_use
from weir_placement.admission.system import StreamSystem
from weir_placement.admission.walk import SLACK


class Overload(NamedTuple):
    """Hosts and links, by index, that are short of something; false where there are none."""

    hosts: frozenset[int]
    links: frozenset[tuple[int, int]]

    def __bool__(self) -> bool:
        return bool(self.hosts or self.links)


def overloaded(system: StreamSystem, allocation: Allocation) -> Overload:
    """O(providers + hosts)."""
    use = resource_use(system, allocation)
    hosts: set[int] = set()
    for resource in ("cpu", "memory", "egress", "ingress"):
        capacity = np.array([getattr(host, resource) for host in system.hosts])
        hosts.update(map(int, np.flatnonzero(getattr(use, resource) > capacity * (1 + SLACK))))
    links = {ends for ends, load in use.links.items() if load > system.link(*ends) * (1 + SLACK)}
    return Overload(frozenset(hosts), frozenset(links))
