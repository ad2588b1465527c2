"""What nodes say to each other while a plan changes: values, nothing in them is shared with the sender.

The kinds up to Report modify the plan (NOS, section 4.2.2), the others migrate to it (section 4.3).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import NamedTuple

from weir_placement.joins.operators import Role
from weir_placement.joins.streams import JoinStream, Partial


class SettledStep(NamedTuple):
    """A step in its settled place: its stream, what arrives there, its cost [s/s] and its bit."""

    stream: int
    before: Partial
    cost: float
    bit: int


class Rival(NamedTuple):
    """The cheapest later stream, at the first step whose own stream is not the cheapest."""

    position: int
    cost: float
    stream: int


@dataclass(frozen=True)
class Walk:
    """Verifies an order from some step on (algorithm 3, step 1 and stage 2).

    It goes through the nodes of that order, and each compares its own cost at every step so far with the
    cost there.

    Attributes:
        head: which SEP.
        trigger: the node whose statistics changed.
        order: the streams from that step to the last.
        at: where in `order` the receiver is.
        placed: the steps of order[:len(placed)].
        flow: what comes out of them.
        rival: the stream that takes a step's place, if one does.
    """

    head: int
    trigger: int
    order: tuple[int, ...]
    at: int
    placed: tuple[SettledStep, ...]
    flow: Partial
    rival: Rival | None = None


@dataclass(frozen=True)
class Search:
    """Asks the earlier streams, from the first on, whether the trigger's is cheaper in their place.

    Stage 1 of algorithm 3 for a cost that has decreased.

    Attributes:
        mover: the trigger's own statistics.
        earlier: the streams before it in the order.
        at: where in `earlier` the receiver is.
        otherwise: the walk for when it is cheaper in no earlier place.
    """

    mover: JoinStream
    earlier: tuple[int, ...]
    at: int
    otherwise: Walk


@dataclass(frozen=True)
class Changed:
    """To a head's node: the statistics of `stream` changed, which is joined in its SEP.

    Attributes:
        mover: the new statistics.
        step: the stream's step at the place where it is now, with its new cost.
        dearer: the step's cost has increased.
        rises_only: no statistic that cost grows with has decreased, so no earlier place can be better now.
    """

    head: int
    stream: int
    mover: JoinStream
    step: SettledStep
    dearer: bool
    rises_only: bool


@dataclass(frozen=True)
class Settled:
    """To a head's node: its SEP from some step on, in the order of invariant (4)."""

    walk: Walk


@dataclass(frozen=True)
class RoleChange:
    """From a head's node: the receiver's new role in that SEP.

    Attributes:
        trigger: whose change it is due to.
        role: the new role.
        step: its new step, for the stream that moved without being walked through.
        windows: (stream, node): where windows that are new in `role` have been in the old SEP.
    """

    trigger: int
    role: Role
    step: SettledStep | None
    windows: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Report:
    """To the trigger's node: one SEP is done, and these nodes were sent a role change."""

    head: int
    affected: tuple[int, ...]


@dataclass(frozen=True)
class Prepare:
    """To an affected node: all SEPs are done; `changes` role changes are for you."""

    trigger: int
    changes: int


@dataclass(frozen=True)
class WindowRequest:
    """To a node that keeps a window: send what is in it."""

    stream: int


@dataclass(frozen=True)
class WindowContent:
    """The answer: data, not counted among the messages (section 5.2 counts requests)."""

    stream: int


@dataclass(frozen=True)
class LocalReady:
    """To the coordinator, which is the trigger's node: the windows of the new set are full."""


@dataclass(frozen=True)
class GlobalReady:
    """To an affected node: all are ready, migrate."""


Body = (
    Walk
    | Search
    | Changed
    | Settled
    | RoleChange
    | Report
    | Prepare
    | WindowRequest
    | WindowContent
    | LocalReady
    | GlobalReady
)
MODIFICATION = (Walk, Search, Changed, Settled, RoleChange, Report)
MIGRATION = (Prepare, WindowRequest, LocalReady, GlobalReady)


class Letter(NamedTuple):
    """A message on its way: node indexes of sender and receiver."""

    sender: int
    receiver: int
    body: Body


def numbers(value: object) -> int:
    """How many numbers a message carries: 8 bytes each when its size on the link is estimated."""
    if isinstance(value, int | float):
        return 1
    if is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    return sum(map(numbers, value)) if isinstance(value, tuple) else 0
