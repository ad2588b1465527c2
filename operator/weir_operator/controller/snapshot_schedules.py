"""Snapshots that a query asks for by a schedule: which is due, and which are more than it keeps.

What was made is read from the QuerySnapshots that are there; `status.lastSnapshot` of the query remembers it
when they are gone, so that none is made twice.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from weir_operator.api.kinds import MAX_NAME
from weir_operator.api.schedule import last_due
from weir_operator.controller.decision import NewSnapshot
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.raw_fields import created, part
from weir_operator.controller.record import name_of
from weir_operator.controller.round_state import RoundState
from weir_operator.controller.times import seconds, timestamp

DUE = "weir.dev/due"
"""Annotation of a QuerySnapshot that was made by a schedule: for when."""
STAMP = "%Y%m%d%H%M"


@dataclass(frozen=True)
class Scheduled:
    """The QuerySnapshots of one query that its schedule has made, by when they were due [s since 1970]."""

    query: Manifest
    by_due: dict[float, Manifest] = field(default_factory=dict)

    def last(self) -> float:
        """For when the last one was made; 0: none."""
        return max([seconds(part(self.query, "status").get("lastSnapshot")), *self.by_due])

    def last_text(self) -> str | None:
        """The same, as the query's status says it."""
        return timestamp(self.last()) if self.last() else None

    def surplus(self) -> set[str]:
        """Names of those beyond `keep.count`: the oldest complete ones; failed ones before a complete one."""
        count = part(part(part(self.query, "spec"), "snapshots"), "keep").get("count")
        if not isinstance(count, int):
            return set()
        ordered = [self.by_due[due] for due in sorted(self.by_due, reverse=True)]
        complete = [o for o in ordered if part(part(o, "status"), "content")]
        before = ordered[ordered.index(complete[0]) + 1 :] if complete else []
        failed = [o for o in before if o not in complete]
        return {name_of(o) for o in (*complete[count:], *failed)}


def scheduled(state: RoundState) -> dict[str, Scheduled]:
    """By query that has a schedule, or had one."""
    objects = state.observed.objects
    queries = {name_of(o): o for o in objects if o.get("kind") == "StreamQuery"}
    by_query = {
        name: Scheduled(o)
        for name, o in queries.items()
        if part(part(o, "spec"), "snapshots") or part(o, "status").get("lastSnapshot")
    }
    for snapshot in (o for o in objects if o.get("kind") == "QuerySnapshot"):
        name = f"{snapshot['metadata'].get('namespace') or 'default'}/{part(snapshot, 'spec').get('query')}"
        due = part(part(snapshot, "metadata"), "annotations").get(DUE)
        if due and name in by_query:
            with suppress(TypeError, ValueError):  # a person has written it
                by_query[name].by_due[seconds(due)] = snapshot
    return by_query


def due_snapshot(series: Scheduled, now: float) -> NewSnapshot | None:
    """What the schedule of a query asks for now; of several that were missed, the last. Raises ValueError or
    TypeError where the spec is not as the schema says."""
    query = series.query
    settings = part(part(query, "spec"), "snapshots")
    due = last_due(str(settings["schedule"]), now) if settings.get("schedule") else None
    if due is None or due <= max(series.last(), created(query)) or "deletionTimestamp" in query["metadata"]:
        return None
    namespace, short = name_of(query).split("/", 1)
    return new_snapshot(query, f"{namespace}/{name_for(short, due)}", due)


def new_snapshot(query: Manifest, name: str, due: float) -> NewSnapshot:
    """Of a query, where and for how long its `spec.snapshots` says; it is one of those that `keep` counts."""
    settings = part(part(query, "spec"), "snapshots")
    spec: dict[str, Any] = {"query": query["metadata"]["name"]}
    if place := part(settings, "place"):
        spec["place"] = place
    if age := part(settings, "keep").get("age"):
        spec["keepFor"] = age
    return NewSnapshot(name, spec, {DUE: timestamp(due)})


def name_for(query: str, due: float) -> str:
    """Of a QuerySnapshot; the same for the same query and time.

    >>> name_for("by-carrier", 1_767_236_400.0)
    'by-carrier-202601010300'
    """
    return name_ending(query, datetime.fromtimestamp(due, UTC).strftime(STAMP))


def name_ending(query: str, end: str) -> str:
    """A query's name with an end, within the length that a name may have.

    >>> name_ending("by-carrier", "x"), len(name_ending("q" * 63, "202601010300"))
    ('by-carrier-x', 50)
    """
    longest = MAX_NAME - len(end) - 1
    if len(query) > longest:
        query = f"{query[: longest - 7].rstrip('-')}-{sha256(query.encode()).hexdigest()[:6]}"
    return f"{query}-{end}"
