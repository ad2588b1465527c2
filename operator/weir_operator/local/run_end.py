"""When a run whose inputs end is over, and what it has not done: for `weir run --until-finished`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from weir_operator.controller.observed_state import Process
from weir_operator.controller.record import name_of
from weir_operator.local.store import RunStore

AT_WORK = ("pending", "starting", "standby", "running")
DONE = ("Finished", "Suspended")


def unfinished(store: RunStore, processes: Collection[Process]) -> dict[str, str] | None:
    """By query, why it will not finish by itself; None while anything may still come. The statuses are those
    of the round that looked at these processes, so a query that it has just planned is not done."""
    fragments = {
        name_of(placement): {fragment["name"] for fragment in placement["spec"]["fragments"]}
        for placement in store.placements()
    }
    reasons: dict[str, str] = {}
    for name, status in store.queries():
        own = [process for process in processes if process.fragment in fragments.get(name, ())]
        why = _why_it_cannot(status, own)
        if why:
            reasons[name] = why
        elif why is None:
            return None
    return reasons


def _why_it_cannot(status: Mapping[str, Any], processes: Collection[Process]) -> str | None:
    """Empty: the query is done; None: it goes on."""
    conditions = {c["type"]: c for c in status.get("conditions") or () if c["status"] == "True"}
    ready, stalled = conditions.get("Ready"), conditions.get("Stalled")
    if refusals := [process.message for process in processes if process.refused]:
        return "; ".join(refusals)
    if stalled and not (ready and any(process.state in AT_WORK for process in processes)):
        return str(stalled["message"])
    return "" if ready and ready["reason"] in DONE else None
