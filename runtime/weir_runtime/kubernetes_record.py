"""The record of a lease in a coordination.k8s.io Lease: its spec, and annotations for the rest."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, cast

from weir_placement.model.change import Change
from weir_placement.model.from_plain import build_plain
from weir_placement.model.hosted import NOBODY

from weir_runtime.lease import LeaseRecord

HANDOVER = "weir.dev/handover-epoch"
RELEASED = "weir.dev/released"
CHANGE = "weir.dev/change"


def nobody(epoch: int) -> LeaseRecord:
    """Nobody holds it, and only `epoch` may begin."""
    return LeaseRecord(epoch, NOBODY, 0.0, 1.0, released=True)


def record_of(manifest: dict[str, Any]) -> LeaseRecord | None:
    """None while nobody ever held it and no hand-over is written."""
    spec = manifest.get("spec") or {}
    notes = manifest["metadata"].get("annotations") or {}
    handover = _number(notes.get(HANDOVER, ""))
    if not spec.get("leaseTransitions"):
        return nobody(handover) if handover is not None else None
    renewed = datetime.fromisoformat(spec["renewTime"]).timestamp() if spec.get("renewTime") else 0.0
    return LeaseRecord(
        epoch=int(spec["leaseTransitions"]),
        holder=spec.get("holderIdentity", ""),
        renewed=renewed,
        duration=float(spec["leaseDurationSeconds"]),
        handover=handover,
        released=notes.get(RELEASED) == "true",
        change=_change(notes.get(CHANGE, "")),
    )


def _number(text: str) -> int | None:
    """None also for what nobody of ours writes: anybody who may edit the Lease may write its annotations."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _change(text: str) -> Change | None:
    """Likewise."""
    try:
        return cast(Change, build_plain(Change, json.loads(text), "change"))
    except (ValueError, RecursionError):
        return None


def manifest_of(manifest: dict[str, Any], record: LeaseRecord) -> dict[str, Any]:
    """`manifest` with the record in it; what others keep there (labels, owners) stays."""
    notes = dict(manifest["metadata"].get("annotations") or {})
    change = json.dumps(asdict(record.change)) if record.change else None
    written = {HANDOVER: record.handover, RELEASED: "true" if record.released else None, CHANGE: change}
    for key, value in written.items():
        if value is None:
            notes.pop(key, None)
        else:
            notes[key] = str(value)
    renewed = datetime.fromtimestamp(record.renewed, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "holderIdentity": record.holder,
        "leaseTransitions": record.epoch,
        "renewTime": renewed,
        "leaseDurationSeconds": max(1, math.ceil(record.duration)),
    }
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": notes}, "spec": spec}
