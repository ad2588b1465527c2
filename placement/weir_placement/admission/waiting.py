"""Queries that were refused wait, and are tried again when there is more room or another system, not
before."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from weir_placement.admission.allocation import resource_use
from weir_placement.admission.planner import AdmissionVerdict, SqprPlanner
from weir_placement.admission.request import StreamRequest


@dataclass
class WaitingQueries:
    """By the order in which they came. A query is tried once for each digest of free capacity."""

    requests: list[StreamRequest] = field(default_factory=list)
    tried: dict[str, int] = field(default_factory=dict)

    def add(self, planner: SqprPlanner, request: StreamRequest) -> None:
        """A query that the planner has just refused."""
        self.requests.append(request)
        self.tried[request.name] = free_capacity(planner)

    def retry(self, planner: SqprPlanner) -> list[AdmissionVerdict]:
        """Tries those for which something has changed since, by priority, then age."""
        verdicts: list[AdmissionVerdict] = []
        for request in sorted(self.requests, key=lambda r: -r.priority):
            digest = free_capacity(planner)
            if self.tried[request.name] != digest:
                self.tried[request.name] = digest
                verdicts += planner.submit(request)
        admitted = {verdict.query for verdict in verdicts if verdict.admitted}
        self.requests = [request for request in self.requests if request.name not in admitted]
        self.tried = {request.name: self.tried[request.name] for request in self.requests}
        return verdicts


def free_capacity(planner: SqprPlanner) -> int:
    """A digest of the capacities, of what is free of them, and of which streams are made."""
    system, use = planner.system, resource_use(planner.system, planner.allocation)
    loads = np.round(np.concatenate([use.cpu, use.memory, use.egress, use.ingress]), 6) + 0.0
    links = tuple(sorted((ends, round(load, 6)) for ends, load in use.links.items() if load > 1e-6))
    bandwidth = b"" if system.bandwidth is None else system.bandwidth.tobytes()
    providers = frozenset(planner.allocation.providers)
    return hash(
        (system.hosts, system.streams, system.operators, bandwidth, loads.tobytes(), links, providers)
    )
