"""Statuses of the objects that queries refer to: in order, or what is wrong with them."""

from __future__ import annotations

from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import WriteStatus
from weir_operator.controller.snapshot import Snapshot
from weir_operator.controller.world import World

KINDS = ("Stream", "InputProfile", "PlacementPolicy", "NetworkTopology")


def definition_statuses(snapshot: Snapshot, world: World) -> list[WriteStatus]:
    """One for each Stream, InputProfile, PlacementPolicy and NetworkTopology whose conditions changed.

    Without them an object would for ever say `observedGeneration: -1`, and tools that wait for what
    they have applied would never end.
    """
    result = []
    for manifest in snapshot.objects:
        meta, kind = manifest["metadata"], manifest.get("kind", "")
        if kind not in KINDS:
            continue
        namespace, name = meta.get("namespace", ""), meta["name"]
        wrong = world.wrong.get((kind, namespace, name), "")
        health = Health(not wrong, False, bool(wrong), False, "Invalid" if wrong else "Accepted", wrong)
        generation, present = int(meta.get("generation", -1)), manifest.get("status") or {}
        made = conditions(health, generation, snapshot.now, present.get("conditions") or [])
        status = {"observedGeneration": generation, "conditions": made}
        if worth_writing(present, status):
            result.append(WriteStatus(kind, namespace, name, status))
    return result
