"""Statuses of the objects that queries refer to: in order, or what is wrong with them; and who uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import WriteStatus
from weir_operator.controller.record import name_of
from weir_operator.controller.snapshot import Manifest
from weir_operator.controller.work import Work

KINDS = ("Stream", "InputProfile", "PlacementPolicy", "NetworkTopology")
MOST_READERS = 100


def definition_statuses(work: Work, numbers: bool) -> list[WriteStatus]:
    """One for each Stream, InputProfile, PlacementPolicy and NetworkTopology that has something new to say;
    `numbers`: whether it is time to write measured ones that changed.

    Without them an object would for ever say `observedGeneration: -1`, and tools that wait for what
    they have applied would never end.
    """
    result = []
    streams, policies = _streams(work), _policies(work)
    for manifest in work.snapshot.objects:
        meta, kind = manifest["metadata"], manifest.get("kind", "")
        if kind not in KINDS:
            continue
        namespace, name = meta.get("namespace", ""), meta["name"]
        wrong = work.world.wrong.get((kind, namespace, name), "")
        health = Health.failed("Invalid", wrong) if wrong else Health.current("Accepted", "")
        generation, present = int(meta.get("generation", -1)), manifest.get("status") or {}
        made = conditions(health, generation, work.snapshot.now, present.get("conditions") or [])
        status = {"observedGeneration": generation, "conditions": made}
        if kind == "Stream":
            status |= _with_rate(streams.get(name_of(manifest), {}), present)
        elif kind == "PlacementPolicy":
            status |= policies.get(name, {"queries": 0, "admitted": 0})
        if worth_writing(present, status, numbers):
            result.append(WriteStatus(kind, namespace, name, status))
    return result


def _streams(work: Work) -> dict[str, dict[str, Any]]:
    """By stream that has readers: they, and its rate where it was measured."""
    readers: dict[str, set[str]] = defaultdict(set)
    rates: dict[str, float] = {}
    for group in work.world.groups:
        for query, asked in group.queries.items():
            rates |= work.numbers.get(query, {}).get("rates") or {}
            for stream in asked.query.sources.values():
                readers[stream].add(query)
    found: dict[str, dict[str, Any]] = {n: {"readers": sorted(r)[:MOST_READERS]} for n, r in readers.items()}
    for stream in found.keys() & rates.keys():
        found[stream]["rate"] = short(rates[stream])
    return found


def _with_rate(known: Mapping[str, Any], present: Mapping[str, Any]) -> Mapping[str, Any]:
    """While a reader starts or moves, the rate that was measured last stands."""
    if known and "rate" not in known and present.get("rate") is not None:
        return {**known, "rate": float(present["rate"])}
    return known


def _policies(work: Work) -> dict[str, dict[str, Any]]:
    """By policy that a query names: how many do, how many of them have a plan, and the plan's headroom."""
    found: dict[str, dict[str, Any]] = {}
    for manifest in filter(_is_query, work.snapshot.objects):
        policy = (manifest.get("spec") or {}).get("policy") or "default"
        found.setdefault(policy, {"queries": 0, "admitted": 0})["queries"] += 1
    for group in work.world.groups:
        known = found.setdefault(group.name, {"queries": 0, "admitted": 0})
        for query, asked in group.queries.items():
            planned = query in work.records and work.records[query].plan is not None
            known["admitted"] += planned and not asked.suspended and query not in work.refused
            headroom = finite(work.numbers.get(query, {}).get("headroom"))
            if headroom is not None:
                known["headroom"] = headroom  # the same of every query of a policy
    return found


def _is_query(manifest: Manifest) -> bool:
    return manifest.get("kind") == "StreamQuery"


def short(value: float | None) -> float | None:
    """Three digits of a measurement: more would say what nobody knows."""
    return None if value is None or value == float("inf") else float(f"{value:.3g}")


def finite(value: float | None) -> float | None:
    """As it is written: JSON has no infinity, and digits beyond are noise."""
    return None if value is None or value in (float("inf"), float("-inf")) else round(value, 4)
