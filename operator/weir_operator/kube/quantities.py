"""What pods request, in cores and bytes (the scheduler's arithmetic)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weir_operator.api.values import parse_quantity
from weir_operator.controller.observed_state import Requests


def requests_of(pod: Mapping[str, Any]) -> Requests:
    """What the scheduler counts: containers and sidecars together, or an init container that requests more
    while it runs, and the pod's overhead. Pod-level requests override those of containers.
    """
    spec = pod["spec"]
    overhead = Requests(_amount(spec.get("overhead"), "cpu"), _amount(spec.get("overhead"), "memory"))
    cpu = effective(spec, "cpu")
    memory = effective(spec, "memory")
    return Requests(cpu + overhead.cpu, memory + overhead.memory)


def effective(spec: Mapping[str, Any], resource: str, what: str = "requests") -> float:
    """What a pod requests of a resource, or with `limits` is limited to, without its overhead."""
    whole = spec.get("resources", {}).get(what, {})
    if resource in whole:
        return _amount(whole, resource)
    main = sum(_amount_in(container, resource, what) for container in spec["containers"])
    sidecars = peak = 0.0
    for container in spec.get("initContainers", ()):
        request = _amount_in(container, resource, what)
        if container.get("restartPolicy") == "Always":
            sidecars += request
            peak = max(peak, sidecars)
        else:
            peak = max(peak, sidecars + request)
    return max(main + sidecars, peak)


def _amount_in(container: Mapping[str, Any], resource: str, what: str) -> float:
    return _amount(container.get("resources", {}).get(what), resource)


def _amount(amounts: Mapping[str, Any] | None, resource: str) -> float:
    return parse_quantity((amounts or {}).get(resource, "0"))


@dataclass(frozen=True, slots=True)
class PodRequests:
    """What one pod that is on a node, and has not ended, requests there."""

    uid: str
    node: str
    requests: Requests


def requests_on_node(pod: Mapping[str, Any]) -> PodRequests | None:
    """None of a pod that is on no node, or has ended."""
    node = pod["spec"].get("nodeName")
    if not node or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return None
    return PodRequests(pod["metadata"]["uid"], str(node), requests_of(pod))


def sum_by_node(pods: Iterable[PodRequests], without: Collection[str]) -> dict[str, Requests]:
    """Sums by the node's name, without the pods of these uids."""
    totals: dict[str, Requests] = {}
    for pod in pods:
        if pod.uid not in without:
            before = totals.get(pod.node, Requests())
            totals[pod.node] = Requests(before.cpu + pod.requests.cpu, before.memory + pod.requests.memory)
    return totals
