"""With which state a query begins: none, what is kept of a deleted query, or a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir_operator.controller.observed_state import Manifest, ObservedState
from weir_operator.controller.raw_fields import part


@dataclass(frozen=True)
class Beginning:
    """With which state a query begins, or goes on.

    Attributes:
        incarnation: what its fragments and checkpoints are named after: a query's uid.
        restore: the Placement (namespace/name) of the deleted query whose state it takes up; "": none.
        snapshot: the snapshot (namespace/name) from which it begins; "": none.
        refusal: why it can do neither; "": it can.
    """

    incarnation: str
    restore: str = ""
    snapshot: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class StateReference:
    """`spec.restoreFrom` of a query: one of the two, or neither."""

    retained: str = ""
    snapshot: str = ""  # namespace/name

    @staticmethod
    def of(spec: Mapping[str, Any], namespace: str) -> StateReference:
        """Of a query's raw spec; what is not as the schema says is reported elsewhere."""
        raw = part(spec, "restoreFrom")
        snapshot = part(raw, "snapshot")
        name = f"{snapshot.get('namespace') or namespace}/{snapshot['name']}" if snapshot.get("name") else ""
        return StateReference(str(raw.get("retained") or ""), name)


def beginning(
    observed: ObservedState, placements: Mapping[str, Manifest], query: Manifest, tenants: bool
) -> Beginning:
    """Of a query's raw object, from the Placements by name and the snapshots that are there; with `tenants`
    those of other namespaces are not its own."""
    meta = part(query, "metadata")
    namespace, short, uid = meta.get("namespace") or "default", str(meta["name"]), str(meta.get("uid") or "")
    wants = StateReference.of(part(query, "spec"), namespace)
    owner = part(part(placements.get(f"{namespace}/{short}", {}), "spec"), "owner")
    if owner.get("uid") == uid and uid:
        return _goes_on(owner, short, uid, wants)
    if wants.snapshot:
        return _of_snapshot(observed, namespace, uid, wants.snapshot, tenants)
    if not wants.retained:
        return Beginning(uid)
    return _of_retained(placements, f"{namespace}/{short}", uid, wants.retained)


def _of_snapshot(observed: ObservedState, namespace: str, uid: str, wanted: str, tenants: bool) -> Beginning:
    if tenants and not wanted.startswith(f"{namespace}/"):
        there, name = wanted.split("/", 1)
        text = (
            f"spec.restoreFrom.snapshot.namespace: {there!r}: a query begins from a snapshot of its own "
            f"namespace: make a QuerySnapshot in {namespace} with existing: {{namespace: {there}, "
            f"name: {name}}}"
        )
        return Beginning(uid, refusal=text)
    if wanted in observed.snapshots:
        return Beginning(uid, snapshot=wanted)
    own = (name for name in observed.snapshots if not tenants or name.startswith(f"{namespace}/"))
    there = ", ".join(sorted(own)) or "none"
    text = f"spec.restoreFrom.snapshot: no snapshot {wanted}; snapshots: {there}"
    return Beginning(uid, refusal=text)


def _of_retained(placements: Mapping[str, Manifest], query: str, uid: str, retained: str) -> Beginning:
    namespace, short = query.split("/", 1)
    kept = {
        name: raw["spec"]
        for name, raw in placements.items()
        if name.startswith(f"{namespace}/") and part(part(raw, "spec"), "retained").get("query") == short
    }
    named = [n for n, spec in kept.items() if retained in (short, spec["retained"]["uid"])]
    if len(named) == 1:
        return Beginning(part(kept[named[0]], "owner").get("incarnation") or "", named[0])
    there = ", ".join(f"{s['retained']['uid']} (deleted {s['retained']['deleted']})" for s in kept.values())
    what = (
        "more than one deleted query of this name is retained"
        if named
        else "no retained state has this name or uid"
    )
    right = (
        f"give a uid of: {there}"
        if kept
        else f"no deleted query {query} is retained; leave the field out to begin anew"
    )
    return Beginning(uid, refusal=f"spec.restoreFrom.retained: {retained!r}: {what}; {right}")


def _goes_on(owner: Mapping[str, Any], short: str, uid: str, wants: StateReference) -> Beginning:
    """Of a query with a plan: restoreFrom is then what it began with, or is gone."""
    incarnation = owner.get("incarnation") or uid
    restored, snapshot = owner.get("restored") or "", owner.get("snapshot") or ""
    retained = wants.retained in ("", restored) or (restored and wants.retained == short)
    if retained and wants.snapshot in ("", snapshot):
        return Beginning(incarnation)
    began = f"from the retained state of {restored}" if restored else "without restored state"
    began = f"from snapshot {snapshot}" if snapshot else began
    field = f"spec.restoreFrom.{'snapshot' if wants.snapshot else 'retained'}"
    wrong = f"{wants.snapshot or wants.retained!r}: the query already runs, and began {began}"
    right = "leave the field out, or delete the query and apply it again"
    return Beginning(incarnation, refusal=f"{field}: {wrong}; {right}")
