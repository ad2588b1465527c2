"""Since when each fragment is on its way: what a policy's `progressDeadline` counts from.

Each fragment has a clock of its own, so that moves one after another are progress. It is kept in the
Placement, so that a new controller forgets no time, and goes on while a process works only for moments
between its crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weir_operator.controller.moves import FragmentStep
from weir_operator.controller.record import Record

WORKING = ("running", "finished")
"""States of a process whose fragment's rows are worked on, or all written."""
SETTLED = 120
"""[s] that a fragment must have worked where it should before its next delay has a clock of its own."""


def serves(step: FragmentStep) -> bool:
    """Whether a fragment's rows are worked on, by a process that is where it was told to be."""
    owner = step.owner
    return owner is not None and owner.state in WORKING and not elsewhere(step)


def taken_over(step: FragmentStep) -> bool:
    """Whether a warm process is about to take over: the moment of a hand-over, when the old one has ended."""
    return step.successor is not None and step.successor.state in ("standby", "running")


def elsewhere(step: FragmentStep) -> str:
    """Where a process runs, if that is not its planned node; a pin may be ignored silently."""
    owner = step.owner
    if owner is None or not owner.node or owner.node == (owner.planned_node or owner.node):
        return ""
    return f"runs on {owner.node}, not on {owner.planned_node}"


def with_progress(record: Record, steps: Mapping[str, FragmentStep], generation: int, now: float) -> Record:
    """The record with the clocks of its fragments; an edit (another generation) begins them anew.

    A clock that has stopped (`until`) stays written until it is needed again: it costs no write of its own.
    """
    past = record.status.get("progress") or {}
    if past.get("generation") != generation:
        past = {}
    since: dict[str, int] = {f: t for f, t in (past.get("since") or {}).items() if f in steps}
    until: dict[str, int] = {f: t for f, t in (past.get("until") or {}).items() if f in steps}
    for fragment, step in steps.items():
        if serves(step) and step.phase != "moving":
            if fragment in since:
                until.setdefault(fragment, int(now))
            continue
        if fragment in until and now - until.pop(fragment) > SETTLED:
            del since[fragment]
        since.setdefault(fragment, int(now))
    clocks: dict[str, Any] = {"since": since, **({"until": until} if until else {})}
    return record.with_status(progress={"generation": generation, **clocks} if since else None)


def overdue(record: Record, deadline: float, passed: Callable[[float], float]) -> list[str]:
    """Fragments that have been on their way for longer than `deadline` [s]; `passed` as of ObservedState."""
    clocks = record.status.get("progress") or {}
    since, until = clocks.get("since") or {}, clocks.get("until") or {}
    return sorted(f for f, begin in since.items() if f not in until and passed(begin) > deadline)
