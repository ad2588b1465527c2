"""What the operator reads from nodes in addition to what the controller reads from them itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.api.node import Taint
from weir_operator.api.query_pods import Toleration
from weir_operator.controller.observed_state import Process
from weir_operator.controller.times import seconds
from weir_operator.manifests.cluster import keeps_away

CORDONED = "node.kubernetes.io/unschedulable"


def lost_since(node: Mapping[str, Any]) -> float | None:
    """When the node stopped being Ready; None while it is Ready.

    A node that never reported has been lost since its creation.
    """
    for condition in node.get("status", {}).get("conditions") or ():
        if condition["type"] == "Ready":
            return None if condition["status"] == "True" else seconds(condition.get("lastTransitionTime"))
    return seconds(node["metadata"].get("creationTimestamp"))


def drained_pods(
    nodes: Iterable[Mapping[str, Any]],
    pods: Iterable[Mapping[str, Any]],
    before: Mapping[str, float],
    now: float,
) -> dict[str, float]:
    """By uid of a pod: since when its node is being drained; `before` is the last result."""
    by_name, since = {node["metadata"]["name"]: node for node in nodes}, {}
    for pod in pods:
        uid, node = pod["metadata"]["uid"], by_name.get(pod["spec"].get("nodeName", ""), {})
        at = drained_since(node, pod["spec"].get("tolerations") or (), before.get(uid, now))
        if at is not None:
            since[uid] = at
    return since


def drained_since(
    node: Mapping[str, Any], tolerations: Iterable[Mapping[str, Any]], first_seen: float
) -> float | None:
    """When the node was cordoned or got a taint that these tolerations do not cover; None while it accepts
    such pods.

    `first_seen` stands in for the time of a taint that has none: those that people set have none.
    """
    spec = node.get("spec") or {}
    cordoned = bool(spec.get("unschedulable"))
    tolerated = [Toleration.model_construct(**toleration) for toleration in tolerations]
    times = [
        seconds(taint.get("timeAdded")) or first_seen
        for taint in spec.get("taints") or ()
        if (cordoned and taint["key"] == CORDONED) or keeps_away(Taint.model_construct(**taint), tolerated)
    ]
    if cordoned:
        times = times or [first_seen]
    return min(times) if times else None


def without_images(node: dict[str, Any]) -> dict[str, Any]:
    """A real node lists fifty images under all their names, which would be most of what is kept of it."""
    if isinstance(status := node.get("status"), dict):
        status.pop("images", None)
    return node


def lost_node_of(pod: Mapping[str, Any], losses: Mapping[str, float | None]) -> float | None:
    """Since when the pod's node is lost: always, for a node that no longer exists."""
    node = pod["spec"].get("nodeName")
    return losses.get(node, 0.0) if node else None


def by_fragment(
    drivers: Iterable[Mapping[str, Any]], processes: Iterable[Process], drained_since: Mapping[str, float]
) -> dict[str, float]:
    """The earliest of what `drained_pods` says of each fragment's drivers."""
    since: dict[str, float] = {}
    for pod, process in zip(drivers, processes, strict=True):
        at = drained_since.get(pod["metadata"]["uid"])
        if at is not None:
            since[process.fragment] = min(at, since.get(process.fragment, at))
    return since
