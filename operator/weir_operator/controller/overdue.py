"""Moves that take too long: a hung one must hold up no other, and its query goes back to what ran before.

When a move began is kept in the Placement's status (`drift.moving`), so that a restart forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from weir_placement.model.fragment import FragmentSpec

from weir_operator.controller.decision import Event
from weir_operator.controller.group_replan import GroupReplan
from weir_operator.controller.record import Record, unpack
from weir_operator.controller.round_state import RoundState


def overdue_moves(state: RoundState) -> dict[str, float]:
    """Fragments whose move has lasted longer than the policy's `moveBudget.deadline` -> its seconds."""
    result: dict[str, float] = {}
    for group in state.desired.groups:
        deadline = group.policy.move_budget.deadline
        for name in group.queries:
            for fragment, since in state.records[name].moving.items():
                if state.observed.passed(since) > deadline:
                    result[fragment] = deadline
    return result


def with_moves(state: RoundState, record: Record, fragments: Iterable[str]) -> Record:
    """The record with the times since which these fragments of it move, for the next rounds."""
    before = record.moving
    moving = {f: before.get(f, state.observed.now) for f in fragments if state.steps[f].phase == "moving"}
    if moving == before:
        return record
    drift = {key: value for key, value in record.drift.items() if key != "moving"}
    return record.with_status(drift={**drift, **({"moving": moving} if moving else {})})


def stuck_fragments(
    state: RoundState, in_force: Iterable[tuple[str, FragmentSpec]]
) -> tuple[dict[str, FragmentSpec], dict[str, str]]:
    """Overdue moves to other nodes. By query, a fragment that still works where it was, and may; and
    "query/operator" -> node of the others, which are to go somewhere else."""
    back: dict[str, FragmentSpec] = {}
    elsewhere: dict[str, str] = {}
    for name, spec in in_force:
        if spec.name not in state.overdue:
            continue
        lease = state.observed.leases.get(spec.name)
        owner = next((p for p in state.processes[spec.name] if lease and p.epoch == lease.epoch), None)
        text = f"{spec.name} has not started on node {spec.node} within {state.overdue[spec.name]:g} s"
        if owner is not None and owner.planned_node == spec.node:
            state.events.append(
                Event(name, "MoveOverdue", f"{text}; no other move waits for it", warning=True)
            )
        elif (
            owner is not None
            and owner.state == "running"
            and owner.node not in state.desired.unusable_nodes(name)
        ):
            back[name] = spec
        else:
            state.events.append(Event(name, "MoveOverdue", f"{text}; looking for another node", warning=True))
            elsewhere |= {f"{name}/{op.id}": spec.node for op in spec.operators}
    return back, elsewhere


def take_back(planning: GroupReplan, stuck: Mapping[str, FragmentSpec]) -> None:
    """The revision before comes into force again, where it has the same fragments."""
    for name, spec in stuck.items():
        record = planning.records[name]
        before = next((e for e in record.history if e["revision"] != record.revision), None)
        plan, boundaries, source = unpack(before.get("plan") if before else None)
        if before is None or plan is None or source != record.source or boundaries != record.boundaries:
            continue
        why = (
            f"{spec.name} has not started on node {spec.node} within "
            f"{planning.group.policy.move_budget.deadline:g} s: back to revision {before['revision']}"
        )
        restored = record.adopt(plan, boundaries, source, planning.now, why).with_decision(planning.now, why)
        drift = {**restored.drift, "lastChange": planning.now}
        planning.records[name] = replace(restored, headroom=None).with_status(drift=drift)
        planning.events.append(Event(name, "MoveAborted", why, warning=True))
