"""`decide`: from the observed state to actions; pure, hence the same in a cluster, on a laptop, in a test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from math import inf

from weir_operator.controller.actions import actions, choose_steps, cut_fragments, leave_alone
from weir_operator.controller.blindness import why_nothing_moves, without_moves
from weir_operator.controller.change import advance
from weir_operator.controller.conditions import worth_writing
from weir_operator.controller.decision import Decision, DeletePlacement, WritePlacement
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.ended import edited_after_the_end
from weir_operator.controller.in_force import with_plans_in_force
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.overdue import overdue_moves
from weir_operator.controller.owner import Retained
from weir_operator.controller.plan_groups import plan_groups
from weir_operator.controller.query_snapshots import FAILED, snapshot_orders
from weir_operator.controller.raw_fields import part
from weir_operator.controller.record import Record, name_of, read_record
from weir_operator.controller.refusal_memory import RefusalMemory
from weir_operator.controller.repeats import without_repeats
from weir_operator.controller.report import (
    assess,
    fragments,
    numbers,
    statuses,
    track_progress,
    with_running,
)
from weir_operator.controller.retention import of_deleted, restored_uids, with_beginnings, with_owners
from weir_operator.controller.rollout import track_rollouts
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshots_before_changes import snapshots_to_wait_for


def decide(
    observed: ObservedState, desired: DesiredState, settings: Settings, memory: RefusalMemory | None = None
) -> Decision:
    """One round: plans first, then each fragment's next step, then statuses and events. With the `memory` of
    earlier rounds it searches no plan again where nothing has changed; nothing else hangs on that."""
    stored, unreadable = _records(observed)
    desired = desired.without(unreadable)
    beginnings = with_beginnings(stored, desired, observed)
    records = beginnings.records
    desired = desired.without(beginnings.refused).without(beginnings.waiting, waits="Restoring")
    waits = snapshots_to_wait_for(observed, desired, records, settings)
    desired = desired.without(waits.waiting, waits="TakingSnapshot").without(waits.failed, waits=FAILED)
    desired = with_plans_in_force(desired, records, unreadable)
    paused = why_nothing_moves(observed, desired)
    if paused:
        observed, desired, settings = without_moves(observed, desired, settings)
    state = RoundState(observed, desired, settings, records, defaultdict(list), paused=paused)
    state.held_images = waits.held
    state.memory = state.memory if memory is None else memory
    for process in observed.processes:
        state.processes[process.fragment].append(process)
    state.events += beginnings.events
    state.before = {name: stored.get(name, Record(name)) for name in records}
    for group in desired.groups:
        for name in group.queries:
            state.records.setdefault(name, Record(name))
            state.before.setdefault(name, Record(name))
    for name, record in state.records.items():
        with state.guard(name):
            state.records[name] = record.with_history_entry(observed.now)
    state.overdue = {} if paused else overdue_moves(state)
    state.ended = dict(edited_after_the_end(state))
    plan_groups(state)
    advance(state)
    cut_fragments(state)
    choose_steps(state)
    current = {name for group in desired.groups for name in group.queries} | set(desired.faults)
    assess(state)
    track_progress(state)
    track_rollouts(state)
    with_owners(state.records, desired)
    placements: list[WritePlacement | DeletePlacement] = [
        DeletePlacement(n) for n in sorted(beginnings.moved)
    ]
    restored = restored_uids(stored.values())
    for name in sorted(state.records):
        try:
            placements += filter(None, [_placement(state, name, current, restored)])
        except Exception as error:  # whatever it is: without its intent nothing of it is done
            state.fail(name, error)
            leave_alone(state, name)
    orders, described = snapshot_orders(state)
    written = statuses(state)
    return Decision(
        placements=tuple(placements),
        actions=tuple(actions(state)),
        statuses=(*written, *described),
        events=tuple(state.events),
        snapshots=(*waits.orders, *orders),
        keep=_fragments_to_keep(state)
        if settings.first_round_of(settings.sweep_period, observed.now)
        else None,
        paused=paused,
        wake_after=settings.period,
        explain=state.numbers,
    )


def _placement(
    state: RoundState, name: str, current: set[str], restored: Collection[str]
) -> WritePlacement | DeletePlacement | None:
    """The Placement of one query if it has changed; of one that is gone, what its state is kept by."""
    record = state.records[name]
    if name not in current:
        return of_deleted(record, {*state.processes, *state.observed.leases}, restored, state.observed)
    if name in state.failed and not specs_of(state, name):
        return None  # a plan that cannot be cut into fragments does not come into force
    if not state.desired.has(name) or (record.plan is None and not record.status):
        return None
    record = with_running(state, record)
    present = state.before[name]
    if _intent(record) == _intent(present) and not _is_news(present, record, numbers(state)):
        return None
    specs = specs_of(state, name)
    return replace(record.placement(fragments(specs), specs or record.specs), awaited=bool(specs))


def _is_news(present: Record, record: Record, numbers_too: bool) -> bool:
    """Whether a status is to be written; that a decision was repeated counts as a number."""
    if numbers_too:
        return worth_writing(present.status, record.status)
    return worth_writing(without_repeats(present.status), without_repeats(record.status), numbers=False)


def _intent(record: Record) -> tuple[object, ...]:
    return record.revision, record.source, record.since, record.leaving, record.owner


def _fragments_to_keep(state: RoundState) -> frozenset[str]:
    """Fragments whose flows and checkpoints stay: those of plans in force, those with processes or leases,
    and those that a Placement owns, also of queries that have become faulty."""
    planned = {spec.name for specs in state.specs.values() for spec in specs}
    owned = {name for record in state.records.values() for name in record.owned}
    return frozenset(planned | owned | set(state.processes) | set(state.observed.leases))


def _records(observed: ObservedState) -> tuple[dict[str, Record], dict[str, str]]:
    """Records by query, and why a Placement cannot be read: somebody has edited it."""
    records, unreadable = {}, {}
    for manifest in observed.objects:
        if manifest.get("kind") == "Placement":
            try:
                record = read_record(manifest)
            except Exception as error:  # whatever it is: the others are read
                record = Record(name_of(manifest), status=part(manifest, "status"))
                if part(manifest, "spec").get("retained"):  # for ever: nobody knows until when
                    record = replace(record, retained=Retained("", "", observed.now, inf))
                unreadable[record.query] = f"its Placement cannot be read: {error!r}"
            records[record.query] = record
    return records, unreadable
