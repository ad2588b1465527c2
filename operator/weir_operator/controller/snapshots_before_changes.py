"""Snapshots of queries that ask for one before each edit of what their rows depend on, or before each new
runtime image: the edit, or the upgrade, waits for it.

Nothing is remembered: the name of the QuerySnapshot says from which revision to which version of the query,
or to which image.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from weir_operator.controller.decision import NewSnapshot
from weir_operator.controller.desired_state import DesiredQuery, DesiredState
from weir_operator.controller.observed_state import Manifest, ObservedState
from weir_operator.controller.raw_fields import part, parts
from weir_operator.controller.record import Record, name_of
from weir_operator.controller.rollout import rollout_of, wanted_image
from weir_operator.controller.round_state import described
from weir_operator.controller.settings import Settings
from weir_operator.controller.snapshot_schedules import name_ending, new_snapshot

log = logging.getLogger(__name__)


@dataclass
class SnapshotWaits:
    """Queries whose edit or upgrade waits for a snapshot, or cannot have one -> why; what is to be taken for
    them.

    Attributes:
        held: those that keep the image that they run.
    """

    waiting: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    orders: list[NewSnapshot] = field(default_factory=list)
    held: set[str] = field(default_factory=set)

    @contextmanager
    def guard(self, query: str) -> Iterator[None]:
        """An error within affects this query alone: it waits, others go on."""
        try:
            yield
        except Exception as error:
            log.error("%s: whether it waits for a snapshot cannot be said", query, exc_info=error)
            self.failed[query] = f"whether it waits for a snapshot cannot be said: {described(error)}"


def snapshots_to_wait_for(
    observed: ObservedState, desired: DesiredState, records: Mapping[str, Record], settings: Settings
) -> SnapshotWaits:
    """Of all queries with `spec.snapshots.beforeEdit` or `beforeUpgrade`."""
    result = SnapshotWaits()
    asking = {
        name_of(o): (o, fields)
        for o in observed.objects
        if o.get("kind") == "StreamQuery" and (fields := _fields_that_ask(part(part(o, "spec"), "snapshots")))
    }
    if not asking:
        return result
    present = {name_of(o): o for o in observed.objects if o.get("kind") == "QuerySnapshot"}
    for group in desired.groups:
        rollouts = []
        for name in group.queries.keys() & records.keys():
            with result.guard(name):
                rollouts.append(rollout_of(records[name]))
        image, _ = wanted_image(group, rollouts, settings)
        for name in group.queries.keys() & asking.keys() & records.keys():
            record, query, (manifest, fields) = records[name], group.queries[name], asking[name]
            if not record.specs or query.suspended:
                continue
            with result.guard(name):
                if "beforeEdit" in fields and _is_edited(record, query):
                    snapshot = snapshot_before(record, query.source)
                    _wait(result, manifest, ("edit", "beforeEdit"), snapshot, present, observed.now)
                elif "beforeUpgrade" in fields and _is_upgraded(record, image, observed):
                    _wait_for_image(result, manifest, record, image, present, observed.now)
    return result


def _wait_for_image(
    result: SnapshotWaits,
    query: Manifest,
    record: Record,
    image: str,
    present: Mapping[str, Manifest],
    now: float,
) -> None:
    """The query keeps the image that it runs until its snapshot is there."""
    change, snapshot = (f"upgrade to {image}", "beforeUpgrade"), snapshot_before(record, f"image {image}")
    # A change of operators ends first, with the image that it began with.
    if record.leaving or _wait(result, query, change, snapshot, present, now):
        result.held.add(record.query)


def _fields_that_ask(settings: Mapping[str, object]) -> list[str]:
    return [name for name in ("beforeEdit", "beforeUpgrade") if settings.get(name) is True]


def _is_edited(record: Record, query: DesiredQuery) -> bool:
    """Whether the plan in force is of an earlier version; one that is left already has its snapshot."""
    return not record.leaving and record.source not in ("", query.source)


def _is_upgraded(record: Record, image: str, observed: ObservedState) -> bool:
    """Whether fragments run another image than they are to; once a rollout has begun it is there."""
    rollout, own = rollout_of(record), {spec.name for spec in record.specs}
    if not image or (rollout and rollout.image == image and not rollout.refused):
        return False
    return bool({p.image for p in observed.processes if p.fragment in own} - {"", image})


def snapshot_before(record: Record, version: str) -> str:
    """namespace/name of the QuerySnapshot before a query changes to a version; the same while it waits."""
    namespace, short = record.query.split("/", 1)
    change = f"{record.owner.incarnation} {record.revision} {version}"
    return f"{namespace}/{name_ending(short, f'before-{sha256(change.encode()).hexdigest()[:8]}')}"


def _wait(
    result: SnapshotWaits,
    query: Manifest,
    change: tuple[str, str],
    name: str,
    present: Mapping[str, Manifest],
    now: float,
) -> bool:
    """Whether the change (in words, and the field that asks) waits for the snapshot of this name."""
    what, field_name = change
    asker, taken = name_of(query), present.get(name)
    status = part(taken, "status") if taken else {}
    if status.get("content"):
        return False
    stalled = [c for c in parts(status, "conditions") if c.get("type") == "Stalled" and c["status"] == "True"]
    if stalled:
        remedy = f"delete it to try again, or set spec.snapshots.{field_name} to false"
        why = f"{stalled[0].get('message')}; {remedy}"
        result.failed[asker] = f"the {what} waits for QuerySnapshot {name}: {why}"
        return True
    result.waiting[asker] = f"the {what} waits for QuerySnapshot {name}; until then the query runs as before"
    if taken is None:
        result.orders.append(new_snapshot(query, name, now))
    return True
