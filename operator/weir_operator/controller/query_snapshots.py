"""QuerySnapshots: what is to be done about each, and what its status says.

All is read from what is there: `status.content`, which the pod that copies has written; the job; the spec. So
a controller that is killed goes on, and a snapshot that failed is tried again only when its spec is edited.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir_operator.api.fit import fit
from weir_operator.api.values import parse_duration
from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import Event, NewSnapshot, SnapshotOrder, SnapshotVerb, WriteStatus
from weir_operator.controller.observed_state import Manifest, SnapshotJob
from weir_operator.controller.raw_fields import created, generation, part, parts
from weir_operator.controller.record import Record, name_of
from weir_operator.controller.round_state import RoundState
from weir_operator.controller.snapshot_schedules import due_snapshot, scheduled
from weir_operator.controller.times import timestamp

KIND = "QuerySnapshot"
FAILED = "SnapshotFailed"
log = logging.getLogger("weir.decide")


def about_query(query: str, placement: Manifest) -> dict[str, Any]:
    """What a snapshot says of the query (namespace/name) that it is of: its plan and statistics."""
    status = part(placement, "status")
    statistics = {key: status.get(key) for key in ("headroom", "links")}
    return {"query": query, "placement": placement["spec"], "statistics": statistics}


def snapshot_orders(state: RoundState) -> tuple[list[SnapshotOrder | NewSnapshot], list[WriteStatus]]:
    """What is to be done in this round, and the statuses that differ."""
    orders: list[SnapshotOrder | NewSnapshot] = []
    surplus: set[str] = set()
    for name, series in scheduled(state).items():
        try:
            orders += filter(None, [due_snapshot(series, state.observed.now)])
            surplus |= series.surplus()
            if last := series.last_text():
                state.last_snapshots[name] = last
        except Exception:  # whatever it is: the others have theirs
            log.exception("the schedule of %s cannot be served", name)
    statuses: list[WriteStatus] = []
    placements = {name_of(o): o for o in state.observed.objects if o.get("kind") == "Placement"}
    for manifest in state.observed.objects:
        if manifest.get("kind") != KIND:
            continue
        try:
            request = _Asked(manifest, state, placements, name_of(manifest) in surplus)
            order, health = request.verdict()
            orders += [order] if order else []
            statuses += _status(state, request, health)
        except Exception:  # whatever it is: the others have theirs
            log.exception("%s %s cannot be served", KIND, name_of(manifest))
    return orders, statuses


@dataclass(frozen=True)
class _Asked:
    """One QuerySnapshot in one round."""

    manifest: Manifest
    state: RoundState
    placements: Mapping[str, Manifest]
    surplus: bool

    @property
    def name(self) -> str:
        return name_of(self.manifest)

    @property
    def spec(self) -> Mapping[str, Any]:
        return part(self.manifest, "spec")

    @property
    def status(self) -> Mapping[str, Any]:
        return part(self.manifest, "status")

    @property
    def content(self) -> Mapping[str, Any]:
        return part(self.status, "content")

    @property
    def namespace(self) -> str:
        return self.name.split("/", 1)[0]

    def verdict(self) -> tuple[SnapshotOrder | None, Health]:
        """The next step, if there is one, and how it is."""
        meta = self.manifest["metadata"]
        if "deletionTimestamp" in meta:
            return None, Health.in_progress("Deleting", "")
        wrong = self.state.desired.errors.get((KIND, self.namespace, meta["name"]))
        if wrong:
            return None, Health.failed("Invalid", wrong)
        if self._over():
            return self._end()
        if self.content:
            return None, Health.current("Complete", "")
        if failure := self._failure():
            return None, Health.failed(FAILED, failure)
        return self._read() if self.spec.get("existing") else self._take()

    def _over(self) -> bool:
        """Whether it is more than is kept, or its time is over; of one that failed, since it was
        asked for."""
        if not (self.content or self._failure()):
            return False
        if self.surplus:
            return True
        if self.spec.get("keepFor") is None:
            return False
        since = float(self.content["taken"]) if self.content else created(self.manifest)
        return self.state.observed.now >= since + parse_duration(self.spec["keepFor"])

    def _end(self) -> tuple[SnapshotOrder | None, Health]:
        health = Health.in_progress(
            "Removing", "its keepFor is over: its files are removed, then this object"
        )
        job = self._job("remove")
        if job is not None and job.state == "succeeded":
            return self._order("forget"), health
        if job is not None and job.state == "failed":
            return None, Health.failed(FAILED, f"its files are not removed: {job.message}")
        return self._order("remove"), health

    def _job(self, verb: SnapshotVerb) -> SnapshotJob | None:
        """What is being done about this very spec."""
        job = self.state.observed.snapshot_jobs.get(self.name)
        request = self.manifest["metadata"].get("uid"), verb, generation(self.manifest, 1)
        return job if job and (job.uid, job.verb, job.generation) == request else None

    def _failure(self) -> str:
        """Why it could not be taken or read; "" where it still may be."""
        job = self._job("read" if self.spec.get("existing") else "take")
        if job is not None and job.state == "failed":
            return job.message or "its pod failed without a message"
        for condition in parts(self.status, "conditions"):
            verdict = condition.get("type"), condition.get("status"), condition.get("reason")
            same = condition.get("observedGeneration") == generation(self.manifest, 1)
            if verdict == ("Stalled", "True", FAILED) and same:
                return str(condition.get("message"))
        return ""

    def _read(self) -> tuple[SnapshotOrder | None, Health]:
        existing = self.spec["existing"]
        lies = f"{existing['namespace']}/{existing['name']}"
        return self._order("read", lies), self._under_way("Reading", "read", f"reads and compares {lies}")

    def _take(self) -> tuple[SnapshotOrder | None, Health]:
        query = f"{self.namespace}/{self.spec['query']}"
        if query not in self.state.desired.uids:
            wrong = f"spec.query: {self.spec['query']!r}: no StreamQuery of this name is in {self.namespace}"
            return None, Health.failed("NotFound", wrong)
        record = self.state.before.get(query, Record(query))
        if record.leaving:
            return None, Health.in_progress("Waiting", f"an edit of query {query} is under way")
        if not record.specs:
            return None, Health.in_progress("Waiting", f"query {query} has no plan in force yet")
        order = SnapshotOrder(
            self.name,
            str(self.manifest["metadata"].get("uid") or ""),
            "take",
            generation(self.manifest, 1),
            self.name,
            record.specs,
            about_query(query, self.placements[query]),
        )
        return order, self._under_way("Taking", "take", f"copies query {query}")

    def _under_way(self, reason: str, verb: SnapshotVerb, what: str) -> Health:
        job = self._job(verb)
        hold = f": {job.message}" if job and job.message else ""
        return Health.in_progress(reason, f"{what}{hold}")

    def _order(self, verb: SnapshotVerb, lies: str = "") -> SnapshotOrder:
        uid = str(self.manifest["metadata"].get("uid") or "")
        return SnapshotOrder(self.name, uid, verb, generation(self.manifest, 1), lies or self.name)


def _status(state: RoundState, request: _Asked, health: Health) -> list[WriteStatus]:
    """What differs from the one that it has; `content` is the pod's."""
    observed, content = generation(request.manifest, -1), request.content
    present = {key: value for key, value in request.status.items() if key != "content"}
    status: dict[str, Any] = {
        "observedGeneration": observed,
        "conditions": conditions(health, observed, state.observed.now, parts(present, "conditions")),
    }
    if content:
        status["query"] = str(part(content, "about").get("query") or "")
        status["taken"] = timestamp(float(content["taken"]))
        status["size"] = size_text(int(content["bytes"]))
    status = fit(KIND, "status", status)
    if not worth_writing(present, status):
        return []
    if health.ready and not _was(present, "Ready"):
        text = f"{status['query']} as of {status['taken']}, {status['size']}"
        state.events.append(Event(request.name, "SnapshotComplete", text, kind="QuerySnapshot"))
    if health.stalled and not _was(present, "Stalled"):
        text = health.message
        state.events.append(Event(request.name, "SnapshotFailed", text, warning=True, kind="QuerySnapshot"))
    namespace, name = request.name.split("/", 1)
    return [WriteStatus("QuerySnapshot", namespace, name, status)]


def _was(present: Mapping[str, Any], kind: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == "True" for c in parts(present, "conditions"))


def size_text(size: int) -> str:
    """Of files, for people.

    >>> size_text(512), size_text(3_400_000)
    ('512 B', '3.2 MiB')
    """
    amount, units = float(size), ["KiB", "MiB", "GiB", "TiB"]
    if size < 1024:
        return f"{size} B"
    while amount >= 1024 and units:
        amount, unit = amount / 1024, units.pop(0)
    return f"{amount:.1f} {unit}"
