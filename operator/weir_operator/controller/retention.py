"""Deleted queries: their state is kept for a time under a name of its own, and a new query takes it up only
where it says so.

A deleted query's Placement is written again under `placement_of_retained`, then the one under the query's
name is deleted; a new query of that name begins after that. Each step is read from what is there, so a
controller that is killed goes on with the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from weir_operator.controller.decision import (
    Action,
    DeletePlacement,
    Event,
    RestoreLease,
    RestoreState,
    WritePlacement,
)
from weir_operator.controller.desired_state import DesiredQuery, DesiredState
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.owner import KeptLease, Owner, Retained, placement_of_retained
from weir_operator.controller.record import Record, read_record
from weir_operator.controller.report import fragments
from weir_operator.controller.round_state import RoundState, specs_of
from weir_operator.controller.source_hash import EXECUTORS, OPERATORS
from weir_operator.controller.times import timestamp

STATE_PARTS = (OPERATORS, EXECUTORS)
"""Of `source_parts`, what state depends on whatever streams and sinks are called."""


@dataclass
class Beginnings:
    """Records by query, with those of deleted queries under names of their own, and what follows from them.

    Attributes:
        waiting: queries that begin later -> why.
        refused: queries that cannot take up what they name -> why.
        moved: names of Placements that are kept under another name already.
        events: what people may want to know.
    """

    records: dict[str, Record]
    waiting: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)


def with_beginnings(
    records: Mapping[str, Record], desired: DesiredState, observed: ObservedState
) -> Beginnings:
    """The records of this round: those of deleted queries set aside, those that are taken up under their new
    query."""
    result = Beginnings({})
    for name, record in records.items():
        uid = record.owner.uid
        if record.retained:  # a kill may have left its status unwritten
            result.records[name] = _with_all_fragments(record)
        elif not uid or desired.uids.get(name, "") == uid:
            result.records[name] = record
        else:
            _set_aside(result, records, record, desired, observed)
    for group in desired.groups:
        for name, query in group.queries.items():
            if name in result.records or name in result.waiting:
                continue
            if query.restore:
                _take_up(result, name, query, observed)
            elif query.snapshot:
                _begin_from(result, name, query, observed)
    return result


def _set_aside(
    result: Beginnings,
    records: Mapping[str, Record],
    record: Record,
    desired: DesiredState,
    observed: ObservedState,
) -> None:
    name, uid = record.query, record.owner.uid
    kept_as = placement_of_retained(name, uid)
    if name in desired.uids:
        result.waiting[name] = f"the deleted query of this name ({uid}) is still being set aside"
    if kept_as in records:
        result.moved.add(name)
        return
    aside = replace(record, query=kept_as, stored_as=name)
    if record.plan is not None and record.owner.retain > 0:
        retained = Retained(name.split("/", 1)[1], uid, observed.now, observed.now + record.owner.retain)
        aside = _with_all_fragments(replace(_with_leases(aside, observed), retained=retained))
        text = f"deleted; its state is retained until {timestamp(retained.until)}: "
        text += f"spec.restoreFrom.retained: {uid}"
        result.events.append(Event(name, "Retained", text))
    result.records[kept_as] = aside


def _with_leases(record: Record, observed: ObservedState) -> Record:
    """It goes on with the leases that it had."""
    names = {spec.name for spec in record.all_specs}
    present = {name: KeptLease.of(observed.leases[name]) for name in names & observed.leases.keys()}
    leases = {name: lease for name, lease in record.owner.leases.items() if name in names} | present
    return replace(record, owner=replace(record.owner, leases=leases))


def _with_all_fragments(record: Record) -> Record:
    """It owns them, so that nothing of them is removed."""
    names = {spec.name for spec in record.all_specs}
    return record.with_status(owned=sorted(names | {*record.owned}))


def _take_up(result: Beginnings, name: str, query: DesiredQuery, observed: ObservedState) -> None:
    kept = result.records.get(query.restore)
    if kept is None or kept.retained is None:
        result.waiting[name] = f"spec.restoreFrom.retained: waits until {query.restore} has been read"
        return
    about = f"spec.restoreFrom.retained: the retained state of {kept.retained.uid}"
    if kept.source != query.source:
        result.refused[name] = f"{about} belongs to another query: {_differences(kept, query)}"
        return
    alive = sorted({p.fragment for p in observed.processes} & {*kept.owned})
    if alive:
        result.waiting[name] = f"{about} is still in use: {', '.join(alive)} must end first"
        return
    owner = replace(kept.owner, uid="", restored=kept.retained.uid)
    text = f"restored the state of the deleted query {kept.retained.uid}"
    restored = replace(kept, query=name, owner=owner, retained=None, pinned=None, approval=None)
    restored = restored.with_status(progress=None, proposed=None, drift=None).with_decision(
        observed.now, text
    )
    result.records[name] = restored
    result.events.append(Event(name, "Restored", text))


def _begin_from(result: Beginnings, name: str, query: DesiredQuery, observed: ObservedState) -> None:
    """The plan of a snapshot for another query, whose names, streams and sink are its own."""
    about = f"spec.restoreFrom.snapshot: snapshot {query.snapshot}"
    content = observed.snapshots[query.snapshot]
    if "damaged" in content:
        result.refused[name] = f"{about}: {content['damaged']}"
        return
    try:
        manifest = {"metadata": {"name": "q"}, "spec": content["placement"]}
        kept = read_record(manifest)
    except Exception as error:  # whatever it is: the others are read
        result.refused[name] = f"{about} cannot be read: {error!r}"
        return
    if kept.plan is None or any(kept.owner.parts.get(part) != query.parts.get(part) for part in STATE_PARTS):
        result.refused[name] = f"{about} belongs to another query: {_differences(kept, query, STATE_PARTS)}"
        return
    text = f"begins from snapshot {query.snapshot}"
    plan = replace(kept.plan, query=replace(kept.plan.query, name=name, sources=query.model.sources))
    owner = Owner(snapshot=query.snapshot)
    record = Record(name, 1, plan, kept.boundaries, query.source, since=kept.since, owner=owner)
    result.records[name] = record.with_decision(observed.now, text)
    result.events.append(Event(name, "Restored", text))


def before_its_first(state: RoundState, query: str, fragment: str) -> Action | None:
    """What a fragment without a lease or a process needs before it may start; None: nothing."""
    record = state.records[query]
    if kept := record.owner.leases.get(fragment):  # of a query that was deleted
        return RestoreLease(fragment, query, kept.epoch, kept.change)
    if record.owner.snapshot and not record.generation and fragment not in state.observed.restored:
        return RestoreState(fragment, query, record.owner.snapshot, specs_of(state, query))
    return None


def _differences(kept: Record, query: DesiredQuery, names: Collection[str] = ()) -> str:
    parts = sorted(names or {*kept.owner.parts, *query.parts})
    other = [part for part in parts if kept.owner.parts.get(part) != query.parts.get(part)]
    verb = "differs" if len(other) < 2 else "differ"
    right = "write it as the earlier query had it, or leave spec.restoreFrom out to begin anew"
    return f"{', '.join(other) or 'something'} {verb}; {right}"


def with_owners(records: dict[str, Record], desired: DesiredState) -> None:
    """Whose the records are now: of every query with a plan its uid, and how long it is kept."""
    queries = {name: query for group in desired.groups for name, query in group.queries.items()}
    for name, record in records.items():
        uid = desired.uids.get(name, "")
        if record.plan is None or not uid or record.retained:
            continue
        retain = desired.retain.get(name, record.owner.retain)
        owner = replace(record.owner, uid=uid, retain=retain, incarnation=record.owner.incarnation or uid)
        if (query := queries.get(name)) and query.source == record.source:
            owner = replace(owner, parts=query.parts)
        records[name] = replace(record, owner=owner)


def of_deleted(
    record: Record, alive: Iterable[str], restored: Collection[str], observed: ObservedState
) -> WritePlacement | DeletePlacement | None:
    """What is written of a query that is not there: kept until its time is over or it is `restored` (uids),
    and then deleted when nothing that it owned is `alive`."""
    retained = record.retained
    if retained is not None and retained.uid not in restored and not is_over(record, observed):
        return record.placement(fragments(record.all_specs), record.specs) if record.stored_as else None
    if {*alive} & {*record.owned} and not (retained and retained.uid in restored):
        return None
    return DeletePlacement(record.stored_as or record.query)


def is_over(record: Record, observed: ObservedState) -> bool:
    """Whether what is left of a deleted query is to be removed."""
    retained = record.retained
    return retained is None or observed.passed(retained.deleted) >= retained.until - retained.deleted


def restored_uids(records: Iterable[Record]) -> frozenset[str]:
    """Of deleted queries whose state another one has taken up, as written in its Placement."""
    return frozenset(record.owner.restored for record in records if record.owner.restored)
