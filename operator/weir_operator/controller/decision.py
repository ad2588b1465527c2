"""What `decide` orders. Each action may be applied twice, and a crash between two is harmless:
the next look shows what is still missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from weir_placement.model.change import Change
from weir_placement.model.fragment import FragmentSpec


@dataclass(frozen=True)
class Start:
    """Have a live process for (spec.name, spec.epoch) on spec.node; start a failed one of that epoch again.

    With `spec.standby` it warms up and waits until the lease names its epoch; without, it takes a lease
    that is absent, released or expired. Folders, lease and state file in `spec` come from `Layout`.
    """

    spec: FragmentSpec
    build: str  # hash of the fragment's plan and of the pod's template: another build is another process
    query: str  # namespace/name, whose Placement owns the process
    policy: str = "default"  # name of the PlacementPolicy (its pod template)
    image: str = ""  # in place of the template's
    shared: bool = False  # in the host of its sharing class and node


@dataclass(frozen=True)
class HandOver:
    """Write into the fragment's lease that `epoch` is to take over."""

    fragment: str
    epoch: int


@dataclass(frozen=True)
class RestoreLease:
    """Where the fragment has no lease: one that is released by `epoch` and has this `change`."""

    fragment: str
    query: str
    epoch: int
    change: Change | None


@dataclass(frozen=True)
class RestoreState:
    """Lay the state of a snapshot (namespace/name) below the folders of a query's fragments (`specs`, in
    topological order) before `fragment` and the others start."""

    fragment: str
    query: str
    snapshot: str
    specs: tuple[FragmentSpec, ...]


@dataclass(frozen=True)
class RequestCut:
    """Write into the fragment's lease, once, that its plan is to end at a cut, `lead` [s] from now. With
    `began` [us]: where nobody has ever had that lease, that it ended where it began. With `time` [us]: of a
    fragment that does not deliver, after which event time nobody needs its rows."""

    fragment: str
    lead: float
    query: str = ""  # namespace/name
    began: int | None = None
    time: int | None = None


@dataclass(frozen=True)
class Stop:
    """End the process (fragment, epoch) gracefully; never force it away from a lost node."""

    fragment: str
    epoch: int
    reason: str


@dataclass(frozen=True)
class CleanUp:
    """The fragment is gone: its lease, its checkpoint and flows that nobody reads may be removed."""

    fragment: str
    query: str


@dataclass(frozen=True)
class Protect:
    """Have a disruption budget for the fragment and its executors, or have none."""

    fragment: str
    query: str
    enabled: bool
    executors: int = 0


Action: TypeAlias = Start | HandOver | RestoreLease | RestoreState | RequestCut | Stop | CleanUp | Protect


@dataclass(frozen=True)
class WritePlacement:
    """Create or replace a Placement (`spec` and `status`), owned by the StreamQuery of the same name."""

    query: str  # namespace/name
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    awaited: bool = True  # false: nothing of it shall run, and what is to stop needs no intent


@dataclass(frozen=True)
class DeletePlacement:
    """The query is gone. (In a cluster the owner reference deletes its Placement too.)"""

    query: str


@dataclass(frozen=True)
class WriteStatus:
    """Set the `/status` of a user's object, and nothing else in it."""

    kind: Literal[
        "StreamQuery", "Stream", "InputProfile", "PlacementPolicy", "NetworkTopology", "QuerySnapshot"
    ]
    namespace: str  # "" for cluster kinds
    name: str
    status: Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """Something that people may want to know; `reason` is one of a stable set."""

    query: str  # namespace/name of the object that it is about
    reason: str
    message: str
    warning: bool = False
    kind: Literal["StreamQuery", "QuerySnapshot"] = "StreamQuery"


SnapshotVerb = Literal["take", "read", "remove", "forget"]


@dataclass(frozen=True)
class SnapshotOrder:
    """Have a QuerySnapshot's files taken, read or removed where the query's volume is; or `forget` the
    object, whose files are gone.

    Attributes:
        snapshot: namespace/name of the QuerySnapshot.
        uid: its uid.
        verb: what is to be done.
        generation: of the spec that is carried out.
        lies: namespace/name that it has in its place.
        specs: to take: the query's fragments in topological order.
        about: to take: what its manifest says of the query.
    """

    snapshot: str
    uid: str
    verb: SnapshotVerb
    generation: int
    lies: str
    specs: tuple[FragmentSpec, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NewSnapshot:
    """Have a QuerySnapshot (namespace/name) that a schedule asks for; one of that name stays as it is."""

    snapshot: str
    spec: Mapping[str, Any]
    annotations: Mapping[str, str]


@dataclass(frozen=True)
class Decision:
    """In the order in which it is applied: intents, then the actions that they need, then reports."""

    placements: tuple[WritePlacement | DeletePlacement, ...] = ()
    actions: tuple[Action, ...] = ()
    statuses: tuple[WriteStatus, ...] = ()
    events: tuple[Event, ...] = ()
    snapshots: tuple[SnapshotOrder | NewSnapshot, ...] = ()
    keep: frozenset[str] | None = None  # sweep the files of all other fragments now; None: not now
    paused: str = ""  # why nothing moves
    wake_after: float = 5.0  # [s] until the next round, at most
    explain: Mapping[str, Any] = field(default_factory=dict)  # numbers behind it, for `weir status` and logs
