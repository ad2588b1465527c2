"""Whose plan a Placement holds, and of a deleted query what is kept and until when."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from weir_placement.model.change import Change

from weir_operator.controller.snapshot import Lease, Manifest
from weir_operator.controller.times import seconds, timestamp

FORMAT = 1
"""Of what is kept of a deleted query."""


@dataclass(frozen=True)
class KeptLease:
    """What a fragment's lease must say again where it is gone: epochs only rise, and an agreed cut stays."""

    epoch: int
    change: Change | None = None

    @staticmethod
    def of(lease: Lease) -> KeptLease:
        """With the highest epoch that may have held it."""
        return KeptLease(max(lease.epoch, lease.handover or 0), lease.change)


@dataclass(frozen=True)
class Owner:
    """As `PlanOwner` of a Placement; empty in those of versions before 2026-11, which are as if nothing were
    to be kept."""

    uid: str = ""
    incarnation: str = ""
    retain: float = 0.0  # [s]
    restored: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    leases: Mapping[str, KeptLease] = field(default_factory=dict)

    def stored(self) -> dict[str, Any]:
        """The fields of `spec.owner`; what is empty is left out."""
        plain = {**vars(self), "leases": {name: asdict(lease) for name, lease in self.leases.items()}}
        return {name: value for name, value in plain.items() if value}


@dataclass(frozen=True)
class Retained:
    """As `RetainedQuery` of a Placement; times in [s since 1970]."""

    query: str
    uid: str
    deleted: float
    until: float

    def stored(self) -> dict[str, Any]:
        """The fields of `spec.retained`."""
        times = {"deleted": timestamp(self.deleted), "until": timestamp(self.until)}
        return {"format": FORMAT, "query": self.query, "uid": self.uid, **times}


def read_owner(spec: Mapping[str, Any]) -> Owner:
    """Of a Placement's spec. Raises ValueError, LookupError, TypeError or AttributeError for anything that
    `Owner.stored` does not give."""
    raw = dict(spec.get("owner") or {})
    leases = {
        name: KeptLease(int(lease["epoch"]), Change(**lease["change"]) if lease.get("change") else None)
        for name, lease in (raw.pop("leases", None) or {}).items()
    }
    return Owner(**raw, leases=leases)


def read_retained(spec: Mapping[str, Any]) -> Retained | None:
    """Of a Placement's spec; None of one whose query is there. Raises as `read_owner`."""
    raw = spec.get("retained")
    if not raw:
        return None
    if raw.get("format", FORMAT) > FORMAT:
        raise ValueError(f"spec.retained.format: {raw['format']}; this version of Weir reads up to {FORMAT}")
    return Retained(raw["query"], raw["uid"], seconds(raw["deleted"]), seconds(raw["until"]))


def placement_of_retained(query: str, uid: str) -> str:
    """The name (namespace/name) of the Placement that holds what is kept of a deleted query: its own and the
    beginning of its uid.

    >>> placement_of_retained("default/by-carrier", "0d6b5a9e-1111-2222-3333-444455556666")
    'default/by-carrier.0d6b5a9e'
    """
    namespace, name = query.split("/", 1)
    short = uid[:8] if len(uid) == 36 else hashlib.sha256(uid.encode()).hexdigest()[:8]
    return f"{namespace}/{name[:41]}.{short}"


@dataclass(frozen=True)
class Beginning:
    """With which state a query begins, or goes on.

    Attributes:
        incarnation: what its fragments and checkpoints are named after: a query's uid.
        restore: the Placement (namespace/name) of the deleted query whose state it takes up; "": none.
        refusal: why it can do neither; "": it can.
    """

    incarnation: str
    restore: str = ""
    refusal: str = ""


def beginning(placements: Mapping[str, Manifest], query: str, uid: str, retained: str) -> Beginning:
    """Of a query (namespace/name), from the Placements by name and its `restoreFrom.retained` ("": unset)."""
    owner = (placements.get(query, {}).get("spec") or {}).get("owner") or {}
    if owner.get("uid") == uid and uid:
        return _goes_on(owner, query, uid, retained)
    if not retained:
        return Beginning(uid)
    namespace, short = query.split("/", 1)
    kept = {
        name: raw["spec"]
        for name, raw in placements.items()
        if name.startswith(f"{namespace}/")
        and ((raw.get("spec") or {}).get("retained") or {}).get("query") == short
    }
    named = [n for n, spec in kept.items() if retained in (short, spec["retained"]["uid"])]
    if len(named) == 1:
        incarnation = (kept[named[0]].get("owner") or {}).get("incarnation") or ""
        return Beginning(incarnation, named[0])
    there = ", ".join(f"{s['retained']['uid']} (deleted {s['retained']['deleted']})" for s in kept.values())
    what = "more than one deleted query of this name is kept" if named else "nothing is kept under it"
    right = (
        f"give a uid of: {there}" if kept else f"no deleted query {query} is kept; leave it out to begin anew"
    )
    return Beginning(uid, refusal=f"spec.restoreFrom.retained: {retained!r}: {what}; {right}")


def _goes_on(owner: Mapping[str, Any], query: str, uid: str, retained: str) -> Beginning:
    """Of a query with a plan: restoreFrom is then what it began with, or is gone."""
    incarnation, restored = owner.get("incarnation") or uid, owner.get("restored") or ""
    if retained in ("", restored) or (restored and retained == query.split("/", 1)[1]):
        return Beginning(incarnation)
    began = f"from what is kept of {restored}" if restored else "anew"
    return Beginning(
        incarnation,
        refusal=f"spec.restoreFrom.retained: {retained!r}: this query has begun {began}, and goes on; "
        "leave it out, or delete the query and apply it again",
    )
