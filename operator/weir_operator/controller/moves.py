"""What one fragment needs next, given its processes and lease: start, restart, standby, hand-over, stop.

There is no memory of a move under way: lease and processes show how far it has come, and whichever
round or replica comes next continues from there (WhiteWater's six steps; runtime.md, "Move of a fragment").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentSpec

from weir_operator.controller.decision import Action, CleanUp, HandOver, Start, Stop
from weir_operator.controller.observed_state import Lease, Process

Phase = Literal["waiting", "starting", "running", "moving", "finished", "failed", "stopping", "gone"]


@dataclass(frozen=True)
class DesiredFragment:
    """A fragment of the plan in force; `spec.node` is where it belongs."""

    spec: FragmentSpec
    build: str
    query: str  # namespace/name
    policy: str
    image: str = ""
    shared: bool = False  # as of `Start`


@dataclass(frozen=True)
class FragmentStep:
    """The next actions of one fragment, and its phase."""

    actions: tuple[Action, ...]
    phase: Phase
    owner: Process | None = None  # the process that holds the lease
    successor: Process | None = None  # the one that is to take over


def next_step(
    fragment: DesiredFragment,
    processes: Sequence[Process],
    lease: Lease | None,
    layout: Layout,
    may_move: bool = True,
    warm: bool = True,
    quota_left: bool = True,
    waits: bool = True,
) -> FragmentStep:
    """Brings the fragment to its node, one step at a time.

    Args:
        processes: those of this fragment, in any order, including ended ones, which `Stop` clears away.
        may_move: whether a new standby may be started now, when the present process still works.
        warm: false for a move without standby: the hand-over first, then a process that starts cold.
        quota_left: false when the namespace's quota admits no second process: the present one goes first.
        waits: false when a successor that was handed the lease has had its time.
    """
    if lease is None and not any(p.epoch for p in processes):
        return FragmentStep((_start(fragment, 1, layout, standby=False),), "starting")
    by_epoch = sorted(processes, key=lambda p: p.epoch)
    epoch = lease.epoch if lease else by_epoch[0].epoch
    owner = next((p for p in processes if p.epoch == epoch), None)
    past = tuple(Stop(p.fragment, p.epoch, "superseded") for p in by_epoch if p.epoch < epoch)
    later = [p for p in by_epoch if p.epoch > epoch]
    handover = lease.handover if lease else None
    if owner and owner.state == "finished" and owner.build == fragment.build:
        # All is written: there is nothing left to move.
        spare = tuple(Stop(p.fragment, p.epoch, "the input has ended") for p in later)
        return FragmentStep(past + spare, "finished", owner)
    shut_out = _is_shut_out(owner, processes, handover, waits)
    if (
        owner
        and _fits(owner, fragment)
        and owner.state != "stopped"
        and not owner.terminating
        and not shut_out
    ):
        # even on a node that does not answer, while the plan keeps it there: a second one would only wait
        return _settled(fragment, owner, later, handover if waits else None, past, layout)
    candidates = [p for p in later if _fits(p, fragment) and p.state not in ("stopped", "lost")]
    candidate = max(candidates, key=lambda p: p.epoch, default=None)
    others = tuple(
        Stop(p.fragment, p.epoch, "the plan changed meanwhile")
        for p in later
        if p is not candidate and p.epoch != handover
    )
    works = owner is not None and owner.state in ("running", "starting") and not owner.terminating
    works = works and not shut_out
    if candidate is None:
        bound = _bound(fragment, later, handover, works)
        if bound is not None and waits:
            return FragmentStep(past + others, "moving", owner, bound)
        if works and not may_move:
            return FragmentStep(past + others, "running", owner)
        if not quota_left:
            return FragmentStep(
                (*past, *others, *_free_quota(owner, works, epoch, handover)), "moving", owner
            )
        following = max([epoch, *(p.epoch for p in processes)]) + 1
        if warm or not works:
            following = max(following, (handover or 0) + 1)
            return FragmentStep(
                (*past, *others, _start(fragment, following, layout, standby=True)), "moving", owner
            )
        hand_over = HandOver(fragment.spec.name, following)
        return FragmentStep(
            (*past, *others, hand_over, _start(fragment, following, layout, standby=False)), "moving", owner
        )
    actions: tuple[Action, ...] = past + others
    if candidate.state == "failed":
        actions += (_start(fragment, candidate.epoch, layout, standby=True),)
    elif handover != candidate.epoch and (candidate.state == "standby" or not works):
        actions += (HandOver(candidate.fragment, candidate.epoch),)
    return FragmentStep(actions, "moving", owner, candidate)


def _is_shut_out(
    owner: Process | None, processes: Sequence[Process], handover: int | None, waits: bool
) -> bool:
    """Whether the owner can no longer have its lease: once that was handed over, only the successor may take
    it, or one that it is handed to instead."""
    if owner is None or handover in (None, owner.epoch) or owner.state not in ("failed", "starting"):
        return False
    return not waits or all(p.epoch != handover for p in processes)


def _bound(
    fragment: DesiredFragment, later: Sequence[Process], handover: int | None, works: bool
) -> Process | None:
    """A successor that was handed the lease already: it goes first, even on a node that is no longer desired.
    But where nobody works, one that has not come up in another build (its image may not be there) is not
    waited for."""
    coming = ("standby", "starting")
    bound = next((p for p in later if p.epoch == handover and p.state in coming), None)
    if bound is not None and bound.state == "starting" and bound.build != fragment.build and not works:
        return None
    return bound


def _free_quota(owner: Process | None, works: bool, epoch: int, handover: int | None) -> tuple[Action, ...]:
    """The owner is to hand over, to nobody yet, or is stopped if it does not work: then the quota admits
    another process."""
    if owner is None or owner.terminating:
        return ()
    if not works:
        return (Stop(owner.fragment, owner.epoch, "the quota does not admit a second process"),)
    return () if (handover or 0) > epoch else (HandOver(owner.fragment, epoch + 1),)


def _settled(
    fragment: DesiredFragment,
    owner: Process,
    later: Sequence[Process],
    handover: int | None,
    past: tuple[Action, ...],
    layout: Layout,
) -> FragmentStep:
    """The owner is where it should be. A successor to which nothing is handed over is no longer needed."""
    bound = next((p for p in later if p.epoch == handover), None)
    spare = tuple(Stop(p.fragment, p.epoch, "no longer needed") for p in later if p is not bound)
    if bound is not None:
        return FragmentStep(past + spare, "moving", owner, bound)
    if owner.state == "failed":
        return FragmentStep(
            (*past, *spare, _start(fragment, owner.epoch, layout, standby=False)), "failed", owner
        )
    if owner.state == "standby" and handover != owner.epoch:
        # It holds no lease that would let it begin (its predecessor's lease was lost with the storage).
        return FragmentStep((*past, *spare, HandOver(owner.fragment, owner.epoch)), "starting", owner)
    return FragmentStep(past + spare, "running" if owner.state == "running" else "starting", owner)


def under_way(node: str, processes: Sequence[Process], lease: Lease | None) -> bool:
    """Whether a fragment that belongs on `node` is still to move there; false once that has failed."""
    if lease is None:
        return False
    live = [p for p in processes if p.state not in ("stopped", "lost")]
    later = [p for p in live if p.epoch > lease.epoch]
    owner = next((p for p in live if p.epoch == lease.epoch), None)
    if owner is not None and owner.state == "finished":
        return False
    if any(p.state == "failed" or p.restarts for p in later):
        return False
    return bool(later) or (owner is not None and owner.planned_node != node)


def removal(fragment: str, query: str, processes: Sequence[Process], clean_up: bool) -> FragmentStep:
    """The fragment is no longer desired: its processes end, then (with `clean_up`) its state is removed."""
    if processes:
        by_epoch = sorted(processes, key=lambda p: p.epoch)
        return FragmentStep(
            tuple(Stop(p.fragment, p.epoch, "no longer desired") for p in by_epoch), "stopping"
        )
    return FragmentStep((CleanUp(fragment, query),) if clean_up else (), "gone")


def _fits(process: Process, fragment: DesiredFragment) -> bool:
    return process.planned_node == fragment.spec.node and process.build == fragment.build


def _start(fragment: DesiredFragment, epoch: int, layout: Layout, standby: bool) -> Start:
    spec = layout.stamp(fragment.spec, epoch, fragment.spec.node, standby)
    about = (fragment.query, fragment.policy, fragment.image, fragment.shared)
    return Start(spec, fragment.build, *about)
