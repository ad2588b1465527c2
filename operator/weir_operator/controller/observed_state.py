"""What the loop sees at one moment. `decide` is a pure function of a `ObservedState`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from weir_placement.model.change import Change

Manifest = Mapping[str, Any]
"""An object as the API server or a file has it: apiVersion, kind, metadata, spec, status.

Adapters fill `metadata.namespace`, `metadata.uid`, `metadata.generation` and `metadata.creationTimestamp`
also for objects that come from files."""

SKEW = 60.0
"""[s] Times that other machines write may lie so far ahead of this one's clock."""

ProcessState = Literal["pending", "starting", "standby", "running", "stopped", "finished", "failed", "lost"]
"""pending: not yet on a node; starting: session not up; standby: warm, waits for the hand-over;
running: processes rows; stopped: ended cleanly (stopped, moved away, or fenced); finished: its finite
input has ended and all is written; failed: ended with an error; lost: its node does not answer."""


@dataclass(frozen=True)
class Process:
    """One life of a fragment: a pod, or a local process. There is at most one for (fragment, epoch)."""

    fragment: str
    epoch: int
    node: str  # where it really is; "" while pending
    planned_node: str  # where it was told to run
    state: ProcessState
    since: float  # when it came into this state [s since 1970]
    build: str = ""  # what it was started with: `Start.build`
    restarts: int = 0
    message: str = ""  # the last error, or why it is pending
    refused: bool = False  # it ended with exit code 2: a person must change something; it is tried again
    terminating: bool = False  # told to stop (a pod with a deletionTimestamp)
    silent: bool = False  # it holds the lease, and does not renew it
    executors: int = 0  # executors that work for it
    no_room: bool = False  # cannot work there: the node lacks some resource, or cannot reach the lease
    image: str = ""  # what it runs; "" on one machine


@dataclass(frozen=True)
class Lease:
    """The truth about who may write a fragment's output (one for each fragment)."""

    fragment: str
    epoch: int
    holder: str
    renewed: float  # [s since 1970]
    duration: float  # [s]
    handover: int | None = None  # the epoch that is to take over
    released: bool = False  # the holder has stopped after a commit
    change: Change | None = None  # the end of its plan: requested, agreed, passed

    def expired(self, now: float) -> bool:
        """Whether the holder has failed to renew for the lease's duration."""
        return now > self.renewed + self.duration


@dataclass(frozen=True)
class OperatorMetrics:
    """Totals since the process began; a pair of readings gives rates and selectivities. For an input
    (source alias, or id of the upstream operator): rows read and rows handed on."""

    rows_in: float
    rows_out: float


@dataclass(frozen=True)
class FragmentMetrics:
    """The last reading of one fragment's `/metrics`. Totals are counted from the process's start."""

    fragment: str
    epoch: int
    at: float  # [s since 1970]
    backlog: float = 0.0  # waiting batches of all inputs
    bytes_out: float = 0.0
    cpu_seconds: float = 0.0  # of the process and its children
    published: float = 0.0  # when the last batch was published [s since 1970]
    batches: float = 0.0
    state_rows: float = 0.0
    state_bytes: float = 0.0
    watermark_lag: float = 0.0  # [s]
    batch_seconds: float = 0.0  # of the last batch
    late_rows: float = 0.0
    dropped_rows: float = 0.0
    lost_rows: float = 0.0  # gone before they were read
    lost_files: float = 0.0  # likewise, of files sources
    idle_partitions: float = 0.0  # of all sources
    held_back: bool = False  # it waits for the slowest reader of its output
    unreachable: bool = False  # it starts, and waits for brokers or a store that do not answer
    operators: Mapping[str, OperatorMetrics] = field(default_factory=dict)
    links: Mapping[str, float] = field(default_factory=dict)  # input -> latency to its producer [s]
    silent: Mapping[str, float] = field(default_factory=dict)  # input -> time since its last row [s]
    missing: Mapping[str, int] = field(default_factory=dict)  # input -> file missing before later ones


def measurable(processes: Iterable[Process]) -> list[Process]:
    """Of each fragment the processes that run, or, when none does, those that start: they say what they wait
    for."""
    answering = [process for process in processes if not process.silent]
    running = {process.fragment for process in answering if process.state == "running"}
    return [p for p in answering if p.state == ("running" if p.fragment in running else "starting")]


@dataclass(frozen=True)
class Requests:
    """What pods that are not Weir's request on one node."""

    cpu: float = 0.0  # [cores]
    memory: float = 0.0  # [bytes]


@dataclass(frozen=True)
class SnapshotJob:
    """What is being done, or was, about a QuerySnapshot."""

    uid: str
    verb: str  # of a `SnapshotOrder`
    generation: int
    state: Literal["running", "succeeded", "failed"]
    message: str = ""  # why it failed, or what holds it up


@dataclass(frozen=True)
class ObservedState:
    """Everything that `decide` may look at, its own past included (in the Placements' status)."""

    now: float  # [s since 1970]
    objects: tuple[Manifest, ...]  # the seven kinds and v1 Node, ResourceQuota and LimitRange, as in v1
    processes: tuple[Process, ...] = ()
    leases: Mapping[str, Lease] = field(default_factory=dict)
    metrics: Mapping[str, FragmentMetrics] = field(default_factory=dict)  # by fragment, the live epoch's
    previous_metrics: Mapping[str, FragmentMetrics] = field(default_factory=dict)  # about 10-30 s older
    foreign: Mapping[str, Requests] = field(default_factory=dict)  # by node
    protected: frozenset[str] = frozenset()  # fragments that have a disruption budget
    budget_since: Mapping[str, float] = field(default_factory=dict)
    """By fragment: since when its node is being drained (a cordon, a taint that it does not tolerate)."""
    quota_usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By query: what its pods use of their namespace's quotas, by the quotas' resource names."""
    clock_set: float = 0.0
    """When somebody set the clock that says `now` [s since 1970]; 0: never."""
    snapshots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Snapshots of queries by namespace/name: what each says about its query (`placement`: its spec)."""
    snapshot_jobs: Mapping[str, SnapshotJob] = field(default_factory=dict)
    """By QuerySnapshot (namespace/name)."""
    restored: frozenset[str] = frozenset()
    """Fragments whose state was laid down from a snapshot."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """By fragment: why it could not be started in the previous round, or what about it was refused."""
    unwritten: Mapping[str, str] = field(default_factory=dict)
    """By query: why its Placement cannot be written."""

    def passed(self, since: float) -> float:
        """[s] since a stored time, as `passed` has it."""
        return passed(self.now, since, self.clock_set)


def passed(now: float, since: float, clock_set: float) -> float:
    """[s] from `since` to `now`. It begins anew when the clock is set: how long it has really been, nobody
    knows then, and a deadline that comes late does less harm than one that comes early.

    >>> passed(1000, 400, 0), passed(1000, 400, 900), passed(1000, 1030, 0)
    (600, 100, 0.0)
    >>> passed(1000, 4600, 900)  # it was set back by an hour
    100
    """
    if clock_set and since > now + SKEW:
        return now - clock_set
    return max(0.0, now - max(since, clock_set))
