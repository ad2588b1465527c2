"""When a run whose inputs end is over, and what it has not done: for `weir run --until-finished`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.controller.snapshot import Process
from weir_operator.local.store import RunStore

AT_WORK = ("pending", "starting", "standby", "running")


def unfinished(store: RunStore, processes: Iterable[Process]) -> dict[str, str] | None:
    """By query, why it will not finish by itself; None while anything may still come. The statuses are those
    of the round that looked at these processes, so a query that it has just planned is at work."""
    if any(process.state in AT_WORK for process in processes):
        return None
    reasons: dict[str, str] = {}
    for name, status in store.queries():
        conditions = {c["type"]: c for c in status.get("conditions") or ()}
        if _holds(conditions.get("Stalled")):
            reasons[name] = conditions["Stalled"]["message"]
        elif not _holds(conditions.get("Ready")) or conditions["Ready"]["reason"] not in (
            "Finished",
            "Suspended",
        ):
            return None
    return reasons


def _holds(condition: Mapping[str, Any] | None) -> bool:
    return condition is not None and condition["status"] == "True"
