"""Snapshots of queries that ask for one before each edit of what their rows depend on: the edit waits for it.

Nothing is remembered: the name of the QuerySnapshot says from which revision to which version of the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from weir_operator.controller.decision import NewSnapshot
from weir_operator.controller.desired_state import DesiredQuery, DesiredState
from weir_operator.controller.observed_state import Manifest, ObservedState
from weir_operator.controller.raw_fields import part, parts
from weir_operator.controller.record import Record, name_of
from weir_operator.controller.snapshot_schedules import name_ending, new_snapshot


@dataclass
class EditsThatWait:
    """Queries whose edit waits for a snapshot, or cannot have one -> why; what is to be taken for them."""

    waiting: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    orders: list[NewSnapshot] = field(default_factory=list)


def edits_that_wait(
    observed: ObservedState, desired: DesiredState, records: Mapping[str, Record]
) -> EditsThatWait:
    """Of all queries with `spec.snapshots.beforeEdit`."""
    result = EditsThatWait()
    asking = {
        name_of(o): o
        for o in observed.objects
        if o.get("kind") == "StreamQuery" and part(part(o, "spec"), "snapshots").get("beforeEdit") is True
    }
    if not asking:
        return result
    present = {name_of(o): o for o in observed.objects if o.get("kind") == "QuerySnapshot"}
    for group in desired.groups:
        for name in group.queries.keys() & asking.keys():
            record, query = records.get(name), group.queries[name]
            if record is not None and _is_edited(record, query):
                _wait(result, asking[name], name_before(record, query), present, observed.now)
    return result


def _is_edited(record: Record, query: DesiredQuery) -> bool:
    """Whether the plan in force is of an earlier version; one that is left already has its snapshot."""
    runs = bool(record.specs) and not record.leaving and not query.suspended
    return runs and record.source not in ("", query.source)


def name_before(record: Record, query: DesiredQuery) -> str:
    """namespace/name of the QuerySnapshot; the same as long as the edit is."""
    namespace, short = record.query.split("/", 1)
    edit = f"{record.owner.incarnation} {record.revision} {query.source}"
    return f"{namespace}/{name_ending(short, f'before-{sha256(edit.encode()).hexdigest()[:8]}')}"


def _wait(
    result: EditsThatWait, query: Manifest, name: str, present: Mapping[str, Manifest], now: float
) -> None:
    asker, taken = name_of(query), present.get(name)
    status = part(taken, "status") if taken else {}
    if status.get("content"):
        return
    stalled = [c for c in parts(status, "conditions") if c.get("type") == "Stalled" and c["status"] == "True"]
    if stalled:
        why = (
            f"{stalled[0].get('message')}; delete it to try again, or set spec.snapshots.beforeEdit to false"
        )
        result.failed[asker] = f"the edit waits for QuerySnapshot {name}: {why}"
        return
    result.waiting[asker] = f"the edit waits for QuerySnapshot {name}; until then the query runs as before"
    if taken is None:
        result.orders.append(new_snapshot(query, name, now))
