"""Statuses of the objects that queries refer to: valid, or what is wrong with them; and who uses them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from weir_operator.api.fit import fit
from weir_operator.controller.conditions import Health, conditions, worth_writing
from weir_operator.controller.decision import WriteStatus
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.raw_fields import generation, part, parts
from weir_operator.controller.record import name_of
from weir_operator.controller.round_state import RoundState

KINDS = ("Stream", "InputProfile", "PlacementPolicy", "NetworkTopology")
MOST_READERS = 100
log = logging.getLogger("weir.decide")


def definition_statuses(state: RoundState, numbers: bool) -> list[WriteStatus]:
    """One for each Stream, InputProfile, PlacementPolicy and NetworkTopology whose status has changed;
    `numbers`: whether it is time to write measured numbers that changed.

    Without a status an object would have `observedGeneration: -1` for ever, and tools that wait for what
    they have applied would never finish.
    """
    result: list[WriteStatus] = []
    streams, policies = _streams(state), _policies(state)
    for manifest in state.observed.objects:
        if manifest.get("kind") in KINDS:
            try:
                result += _definition_status(state, manifest, numbers, streams, policies)
            except Exception:  # whatever it is: the others have theirs
                log.exception("%s %s: its status cannot be computed", manifest.get("kind"), name_of(manifest))
    return result


def _definition_status(
    state: RoundState,
    manifest: Manifest,
    numbers: bool,
    streams: Mapping[str, dict[str, Any]],
    policies: Mapping[str, dict[str, Any]],
) -> list[WriteStatus]:
    meta, kind = manifest["metadata"], manifest["kind"]
    namespace, name = meta.get("namespace", ""), meta["name"]
    wrong = state.desired.errors.get((kind, namespace, name), "")
    health = Health.failed("Invalid", wrong) if wrong else Health.current("Accepted", "")
    observed, present = generation(manifest, -1), part(manifest, "status")
    described = conditions(health, observed, state.observed.now, parts(present, "conditions"))
    status = {"observedGeneration": observed, "conditions": described}
    if kind == "Stream":
        status |= _with_rate(streams.get(name_of(manifest), {}), present)
    elif kind == "PlacementPolicy":
        status |= policies.get(name, {"queries": 0, "admitted": 0})
    status = fit(kind, "status", status)
    return [WriteStatus(kind, namespace, name, status)] if worth_writing(present, status, numbers) else []


def _streams(state: RoundState) -> dict[str, dict[str, Any]]:
    """By stream that has readers: its readers, and its rate where it was measured."""
    readers: dict[str, set[str]] = defaultdict(set)
    rates: dict[str, float] = {}
    for group in state.desired.groups:
        measured = (state.numbers.get(name, {}).get("rates") for name in group.queries)
        rates |= next(filter(None, measured), {})  # the same of every query of a policy
        for name, desired in group.queries.items():
            for stream in desired.model.sources.values():
                readers[stream].add(name)
    statuses: dict[str, dict[str, Any]] = {
        stream: {"readers": sorted(names)[:MOST_READERS]} for stream, names in readers.items()
    }
    for stream in statuses.keys() & rates.keys():
        statuses[stream]["rate"] = short(rates[stream])
    return statuses


def _with_rate(status: Mapping[str, Any], present: Mapping[str, Any]) -> Mapping[str, Any]:
    """While a reader starts or moves, the last measured rate stays."""
    if status and "rate" not in status and present.get("rate") is not None:
        return {**status, "rate": float(present["rate"])}
    return status


def _policies(state: RoundState) -> dict[str, dict[str, Any]]:
    """By policy that queries name: how many do, how many of them have a plan, and the plan's headroom."""
    statuses: dict[str, dict[str, Any]] = {}
    for manifest in filter(_is_query, state.observed.objects):
        policy = str(part(manifest, "spec").get("policy") or "default")
        statuses.setdefault(policy, {"queries": 0, "admitted": 0})["queries"] += 1
    for group in state.desired.groups:
        status = statuses.setdefault(group.name, {"queries": 0, "admitted": 0})
        for name, desired in group.queries.items():
            planned = name in state.records and state.records[name].plan is not None
            status["admitted"] += planned and not desired.suspended and name not in state.refusals
            headroom = finite(state.numbers.get(name, {}).get("headroom"))
            if headroom is not None:
                status["headroom"] = headroom  # the same of every query of a policy
    return statuses


def _is_query(manifest: Manifest) -> bool:
    return manifest.get("kind") == "StreamQuery"


def short(value: float | None) -> float | None:
    """Three digits of a measurement: more would be noise."""
    return None if value is None or value == float("inf") else float(f"{value:.3g}")


def finite(value: float | None) -> float | None:
    """As it is written: JSON has no infinity, and more digits would be noise."""
    return None if value is None or value in (float("inf"), float("-inf")) else round(value, 4)
