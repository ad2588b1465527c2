"""The Lease of a fragment: the truth about who may write its output, as the controller sees it.

The operator creates it (a driver may not) and writes the hand-over; drivers of the fragment take, renew and
release it. They write different fields, and a driver's update fails when the hand-over was written in
between, so neither undoes the other's change.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast

from weir_placement.model.change import Change
from weir_placement.model.from_plain import build_plain
from weir_placement.model.hosted import NOBODY

from weir_operator.controller.decision import HandOver, RequestCut, RestoreLease
from weir_operator.controller.observed_state import Lease
from weir_operator.controller.times import seconds
from weir_operator.kube import names
from weir_operator.kube.api import Api, ObjectGone
from weir_operator.kube.owner_references import OwnerReference, metadata
from weir_operator.kube.shapes import BrokenField


def build_lease_spec(namespace: str, fragment: str, query: str, owner: OwnerReference) -> dict[str, Any]:
    """The Lease, without a holder: `spec` belongs to the drivers alone."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
    }


def build_released_lease_spec(action: RestoreLease, namespace: str, owner: OwnerReference) -> dict[str, Any]:
    """A Lease as a driver of that epoch would have left it."""
    lease = build_lease_spec(namespace, action.fragment, action.query, owner)
    notes = {names.RELEASED: "true"}
    if action.change is not None:
        notes[names.CHANGE] = json.dumps(asdict(action.change))
    spec = {"holderIdentity": NOBODY, "leaseTransitions": action.epoch, "leaseDurationSeconds": 1}
    return {**lease, "metadata": {**lease["metadata"], "annotations": notes}, "spec": spec}


def read_lease(manifest: Mapping[str, Any]) -> Lease | None:
    """The lease; None while no driver has ever taken it and no hand-over is written.

    A hand-over that nobody has taken yet reads as a free lease of that epoch.
    """
    spec = manifest.get("spec") or {}
    notes = manifest["metadata"].get("annotations") or {}
    handover = names.epoch_number(notes.get(names.HANDOVER, ""))
    if not spec.get("leaseTransitions"):
        name = manifest["metadata"]["name"]
        return Lease(name, handover, "", 0.0, 0.0, released=True) if handover else None
    return Lease(
        fragment=manifest["metadata"]["name"],
        epoch=int(spec["leaseTransitions"]),
        holder=spec.get("holderIdentity") or "",
        renewed=seconds(spec.get("renewTime")),
        duration=float(spec.get("leaseDurationSeconds") or 0),
        handover=handover,
        released=notes.get(names.RELEASED) == "true",
        change=_change(notes.get(names.CHANGE, "")),
    )


def hand_over(api: Api, namespace: str, action: HandOver) -> None:
    """Only forward, and in the version that was read: a replica that led before takes nothing back."""
    name = names.object_name(action.fragment)
    manifest = api.get("Lease", namespace, name)
    if manifest is None:
        raise ObjectGone(404, f"lease {name} is gone")
    lease = read_lease(manifest)
    if lease is None or action.epoch > max(lease.epoch, lease.handover or 0):
        _annotate(api, manifest, names.HANDOVER, str(action.epoch))


def request_cut(api: Api, namespace: str, action: RequestCut) -> None:
    """Once: neither the holder's answer nor one who takes the lease meanwhile must be overwritten, so the
    patch names the version that was read."""
    manifest = api.get("Lease", namespace, names.object_name(action.fragment))
    if manifest is None or names.CHANGE in (manifest["metadata"].get("annotations") or {}):
        return
    lease = read_lease(manifest)
    if action.began is None or (lease is not None and lease.holder not in ("", NOBODY)):
        _annotate(api, manifest, names.CHANGE, json.dumps(asdict(Change(action.lead, action.time))))
        return
    notes = {
        names.CHANGE: json.dumps(asdict(Change(action.lead, action.began, passed=True))),
        names.RELEASED: "true",
    }
    spec = {"holderIdentity": NOBODY, "leaseTransitions": lease.epoch if lease else 1}
    _merge(api, manifest, notes, spec={**spec, "leaseDurationSeconds": 1})


def keep_apart(api: Api, namespace: str, fragment: str, why: str) -> None:
    """As long as there is the fragment, it runs in no host again. The first reason stays."""
    manifest = api.get("Lease", namespace, names.object_name(fragment))
    if manifest is not None and names.APART not in (manifest["metadata"].get("annotations") or {}):
        _annotate(api, manifest, names.APART, why)


def _annotate(api: Api, manifest: Mapping[str, Any], key: str, value: str) -> None:
    _merge(api, manifest, {key: value})


def _merge(api: Api, manifest: Mapping[str, Any], notes: Mapping[str, str], **more: Any) -> None:
    meta = manifest["metadata"]
    patch = {"annotations": notes, "resourceVersion": meta["resourceVersion"]}
    api.merge("Lease", meta["namespace"], meta["name"], {"metadata": patch, **more})


GAP = 30.0
"""[s] between two readings at most, unless they are as far apart as ever."""


class SilentHolders:
    """Leases whose holder has not renewed for their duration, by the operator's own clock: the holders'
    clocks may differ."""

    def __init__(self) -> None:
        self._renewals: dict[
            str, tuple[tuple[int, str, float], float]
        ] = {}  # the last renewal, and when it was first observed
        self._read_at: float | None = None
        self._pace = 0.0  # [s] between the last two readings: rounds of large clusters are long

    def forget(self) -> None:
        """A reading has failed: until the next one nobody knows who renews."""
        self._renewals = {}

    def since(self, leases: Mapping[str, Lease], now: float, time_of_day: float) -> dict[str, float]:
        """When each expired lease did so [s since 1970]; `leases` as read at `now`, on a steady clock.

        After a gap between two readings, in which this operator was blind, silence begins anew.
        """
        records = {name: (lease.epoch, lease.holder, lease.renewed) for name, lease in leases.items()}
        gap, self._read_at = now - (self._read_at or now), now
        before = {} if gap > max(GAP, 3 * self._pace) else self._renewals
        self._pace = gap
        self._renewals = {
            name: before[name] if name in before and before[name][0] == record else (record, now)
            for name, record in records.items()
        }
        ends = {name: self._renewals[name][1] + lease.duration for name, lease in leases.items()}
        return {name: time_of_day - (now - end) for name, end in ends.items() if end < now}


def broken_notes(manifest: Mapping[str, Any]) -> Iterator[BrokenField]:
    """Annotations that `read_lease` takes for absent, as nobody of ours writes them so."""
    notes = manifest["metadata"].get("annotations") or {}
    reads = {
        names.HANDOVER: (names.epoch_number, "an epoch, as 2"),
        names.CHANGE: (_change, 'a Change, as {"lead": 20.0}'),
    }
    for key, (read, example) in reads.items():
        if key in notes and read(notes[key]) is None:
            yield BrokenField(f"metadata.annotations.{key}", notes[key], f"is not {example}")


def _change(text: str) -> Change | None:
    """None also for text that no driver writes: it must not stop other queries."""
    try:
        change = cast(Change, build_plain(Change, json.loads(text), "change"))
    except (ValueError, RecursionError):
        return None
    return change if math.isfinite(change.lead) and abs(change.time or 0) < 2**63 else None
