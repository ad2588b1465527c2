"""The outside world, as the loop sees it. Two adapters each: Kubernetes and local processes,
Prometheus and direct scrape, Kafka and files. Calls block; the Kubernetes ones run in a thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from weir_operator.controller.decision import (
    Action,
    DeletePlacement,
    Event,
    NewSnapshot,
    SnapshotOrder,
    WritePlacement,
    WriteStatus,
)
from weir_operator.controller.observed_state import (
    FragmentMetrics,
    Lease,
    Manifest,
    Process,
    Requests,
    SnapshotJob,
)


@dataclass(frozen=True)
class ClusterState:
    """What the cluster port sees."""

    objects: tuple[Manifest, ...]
    processes: tuple[Process, ...]
    leases: Mapping[str, Lease]
    foreign: Mapping[str, Requests] = field(default_factory=dict)
    protected: frozenset[str] = frozenset()
    budget_since: Mapping[str, float] = field(default_factory=dict)
    quota_usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    snapshots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    snapshot_jobs: Mapping[str, SnapshotJob] = field(default_factory=dict)
    restored: frozenset[str] = frozenset()


class Refused(OSError):
    """Refused until a person changes something: a quota, an admission rule."""


class Unreachable(OSError):
    """The other side does not answer: the round ends here, and the next one observes afresh."""


class Gone(OSError):
    """The object is gone, or is going with its namespace: there is nothing to do or to report."""


class ClusterPort(Protocol):
    """Nodes, objects and processes. Every write is idempotent."""

    def observe(self) -> ClusterState:
        """All that is there now. Raises OSError when it cannot be read: the loop then changes nothing."""
        ...

    def apply(self, action: Action) -> None:
        """Carry out one action.

        Raises OSError: it is tried again in the next round. Refused: an event says so as well. Gone: it is
        not logged. Unreachable, from this and all other writes: nothing more is tried in this round.
        """
        ...

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """Record an intent; must be durable when it returns."""
        ...

    def write_status(self, status: WriteStatus) -> None:
        """Write a user's object's `/status` subresource."""
        ...

    def order(self, order: SnapshotOrder | NewSnapshot) -> None:
        """Have something done about a QuerySnapshot; `ClusterState.snapshot_jobs` says how far it is."""
        ...

    def emit(self, event: Event) -> None:
        """Publish an event."""
        ...


class MetricsPort(Protocol):
    """Readings of the fragments' metrics, from Prometheus or by direct scrape."""

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        """The last reading of each fragment's running process; those that do not answer are left out."""
        ...


class ExchangePort(Protocol):
    """The durable logs between fragments."""

    def sweep(self, keep: frozenset[str]) -> None:
        """Remove flows, checkpoints and side logs of fragments that are not among these."""
        ...


class Clock(Protocol):
    """The time, so that tests own it."""

    def __call__(self) -> float:
        """[s since 1970]."""
        ...
