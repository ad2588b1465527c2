"""A Placement as the loop reads and writes it: the plan in force, its history, a proposed plan."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.from_plain import build_plain
from weir_placement.model.location import TAG
from weir_placement.model.operator_form import compact
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan

from weir_operator.api.fit import fit
from weir_operator.controller.approval import Approval, read_approval
from weir_operator.controller.decision import WritePlacement
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.owner import Owner, Retained, read_owner, read_retained
from weir_operator.controller.repeats import with_line
from weir_operator.controller.times import timestamp

HISTORY = 10


@dataclass(frozen=True)
class Record:
    """`approval` and `pinned` are written by people (`weir approve`, `weir rollback`); the loop only
    reads them. `source` is a hash of the user's objects: when it differs, the query was edited.

    `specs` are the fragments in force (`told` in a Placement). After an edit of a running query they become
    `leaving`, until the rows up to the cut `since` [us] are published (None: not agreed yet); `generation` is
    the revision that brought the present operators. `retained`: the query is deleted, and this is kept;
    `stored_as` is the Placement that it was read from, where its name is not `query`.
    """

    query: str  # namespace/name
    revision: int = 0
    plan: QueryPlan | None = None
    boundaries: frozenset[str] = frozenset()
    source: str = ""
    approval: Approval | None = None
    approved: int | None = None  # by earlier versions: approves nothing
    pinned: int | None = None
    headroom: float | None = None
    since: int | None = 0
    generation: int = 0
    specs: tuple[FragmentSpec, ...] = ()
    leaving: tuple[FragmentSpec, ...] = ()
    owner: Owner = field(default_factory=Owner)
    retained: Retained | None = None
    stored_as: str = ""
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def drift(self) -> Mapping[str, Any]:
        """`lowSince`, `lastChange` [s since 1970] and `moves`: times of moves by drift."""
        return self.status.get("drift") or {}

    @property
    def moving(self) -> Mapping[str, float]:
        """Fragments that move -> since when [s since 1970]."""
        moving = self.drift.get("moving")
        return moving if isinstance(moving, Mapping) else {}

    @property
    def all_specs(self) -> tuple[FragmentSpec, ...]:
        """Of the plan in force and of the one before it, which may still publish."""
        return (*self.specs, *self.leaving)

    @property
    def owned(self) -> list[str]:
        """Names of the fragments that were started for it and are not cleared away yet."""
        names = self.status.get("owned")
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    @property
    def history(self) -> list[Mapping[str, Any]]:
        """Newest first."""
        return list(self.status.get("history") or [])

    def adopt(self, plan: QueryPlan, boundaries: frozenset[str], source: str, now: float, why: str) -> Record:
        """The record with `plan` in force as the next revision."""
        revision = self.next_revision()
        entry = {
            "revision": revision,
            "time": timestamp(now),
            "reason": why,
            "moves": _moves(self.plan, plan),
            "plan": pack(plan, boundaries, source),
        }
        record = dataclasses.replace(self, revision=revision, plan=plan, boundaries=boundaries, source=source)
        drift = {key: value for key, value in self.drift.items() if key != "moving"}
        return record.with_status(history=[entry, *self.history][:HISTORY], proposed=None, drift=drift)

    def with_history_entry(self, now: float) -> Record:
        """The record with its plan in its history. A kill between writing spec and status leaves the entry
        out, and with it the time at which the plan came into force: the present time stands in for it."""
        if self.plan is None or any(entry["revision"] == self.revision for entry in self.history):
            return self
        entry = {
            "revision": self.revision,
            "time": timestamp(now),
            "reason": "unknown: the controller ended before it wrote the reason",
            "moves": 0,
            "plan": pack(self.plan, self.boundaries, self.source),
        }
        history = [entry, *self.history][:HISTORY]
        return self.with_status(history=history, drift={**self.drift, "lastChange": now})

    def next_revision(self) -> int:
        """Revisions are never used twice, not even after a rollback."""
        return max([self.revision, *(int(entry["revision"]) for entry in self.history)]) + 1

    def with_status(self, **changes: Any) -> Record:
        """The record with status fields replaced, fitted to the schema; None or an empty map removes one:
        server-side apply turns a map that loses its last key into a null, which the schema refuses."""
        kept = {key: value for key, value in self.status.items() if key not in changes}
        merged = {**kept, **fit("Placement", "status", changes)}
        present = {key: value for key, value in merged.items() if value != {}}
        return dataclasses.replace(self, status=present)

    def with_decision(self, now: float, text: str, stays: bool = False) -> Record:
        """The record with one more of its last decisions; `stays`: one not to act."""
        return self.with_status(decisions=with_line(self.status.get("decisions") or [], now, text, stays))

    def placement(
        self, fragments: list[Mapping[str, Any]], specs: tuple[FragmentSpec, ...] = ()
    ) -> WritePlacement:
        """The Placement to write; `fragments` and `specs` are those of the plan in force, in short and in
        full."""
        assert self.plan is not None or not fragments
        operators = [
            {"id": op.id, "kind": op.kind, "inputs": list(op.inputs), "node": self.plan.nodes[op.id]}
            for op in (self.plan.query.operators if self.plan else ())
            if self.plan
        ]
        spec: dict[str, Any] = {"revision": self.revision, "operators": operators, "fragments": fragments}
        if self.headroom is not None:
            spec["headroom"] = self.headroom
        if self.plan is not None:
            spec["plan"] = {
                **pack(self.plan, self.boundaries, self.source),
                "since": self.since,
                "generation": self.generation,
                "told": _plain(specs),
                "leaving": _plain(self.leaving),
            }
            if owner := self.owner.stored():
                spec["owner"] = owner
        if self.retained is not None:
            spec["retained"] = self.retained.stored()
        return WritePlacement(self.query, fit("Placement", "spec", spec), self.status)


def name_of(manifest: Manifest) -> str:
    """namespace/name."""
    meta = manifest["metadata"]
    return f"{meta.get('namespace') or 'default'}/{meta['name']}"


def read_record(manifest: Manifest) -> Record:
    """The record in a Placement.

    Raises ValueError, LookupError, TypeError or AttributeError when it is not as `placement` wrote it.
    """
    spec = manifest.get("spec") or {}
    plan, boundaries, source = unpack(spec.get("plan"))
    packed = spec.get("plan") or {}
    return Record(
        query=name_of(manifest),
        revision=int(spec.get("revision") or 0),
        plan=plan,
        boundaries=boundaries,
        source=source,
        approval=read_approval(spec.get("approval")),
        approved=spec.get("approved"),
        pinned=spec.get("pinned"),
        headroom=spec.get("headroom"),
        since=packed.get("since", 0),
        generation=packed.get("generation", 0),
        specs=_specs(packed.get("told")),
        leaving=_specs(packed.get("leaving")),
        owner=read_owner(spec),
        retained=read_retained(spec),
        # older definitions set observedGeneration by default: it is not kept up to date
        status={k: v for k, v in (manifest.get("status") or {}).items() if k != "observedGeneration"},
    )


def pack(plan: QueryPlan, boundaries: frozenset[str], source: str) -> dict[str, Any]:
    """Plain values; what has its default is left out (JSON has no infinity)."""
    return {"source": source, "boundaries": sorted(boundaries), "placed": _plain(plan)}


def unpack(packed: Mapping[str, Any] | None) -> tuple[QueryPlan | None, frozenset[str], str]:
    """Reverse of `pack`."""
    if not packed:
        return None, frozenset(), ""
    return _built(QueryPlan, json.dumps(packed["placed"])), frozenset(packed["boundaries"]), packed["source"]


def _specs(raw: list[Any] | None) -> tuple[FragmentSpec, ...]:
    return tuple(_built(FragmentSpec, json.dumps(item)) for item in raw or [])


@lru_cache(maxsize=65_536)  # some 15,000 queries: a smaller one would hold nothing of a longer round trip
def _built(kind: Any, text: str) -> Any:
    """The object in the text. Cached by the text: every round reads all Placements, and few have changed."""
    return build_plain(kind, json.loads(text), "plan")


def _plain(value: Any) -> Any:
    if isinstance(value, Operator):
        return _plain(compact(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        defaults = _defaults(type(value))
        items = value.stored() if isinstance(value, Input | Output) else _fields(value)
        return {name: _plain(item) for name, item in items.items() if item != defaults[name]}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Defaults of the fields, and of those in which an Input's flow is stored."""
    return {"exchange": "", "options": {}, TAG: ""} | {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(kind)
    }


def _moves(old: QueryPlan | None, new: QueryPlan) -> int:
    return sum(old.nodes.get(op, node) != node for op, node in new.nodes.items()) if old else 0
