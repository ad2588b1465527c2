"""Whose plan a Placement holds, and of a deleted query what is kept and until when."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from weir_placement.model.change import Change

from weir_operator.controller.observed_state import Lease
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
    snapshot: str = ""
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
