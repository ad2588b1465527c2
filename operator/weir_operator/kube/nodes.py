"""What the operator needs to know of nodes beside what the controller reads from them itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.controller.times import seconds

UNREACHABLE = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")


def lost_since(node: Mapping[str, Any]) -> float | None:
    """When the node's Ready condition was last heard to be gone; None while it is Ready.

    A node that never reported is lost since it was made.
    """
    for condition in node.get("status", {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return None if condition["status"] == "True" else seconds(condition.get("lastTransitionTime"))
    return seconds(node["metadata"].get("creationTimestamp"))


def drained_since(node: Mapping[str, Any], first_seen: float) -> float | None:
    """When the node was cordoned or got a taint that keeps new pods away; None when it takes pods.

    `first_seen` stands in for a taint without a time: those that a person sets carry none.
    """
    spec = node.get("spec") or {}
    times = [
        seconds(taint.get("timeAdded")) or first_seen
        for taint in spec.get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute") and taint["key"] not in UNREACHABLE
    ]
    if spec.get("unschedulable"):
        times = times or [first_seen]
    return min(times) if times else None
