"""What a ResourceQuota counts for the present pods of fragments (the API server's arithmetic)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.api.values import parse_quantity
from weir_operator.controller.times import seconds
from weir_operator.kube import names
from weir_operator.kube.quantities import effective
from weir_operator.manifests.requests import PodAmounts


def usage_by_query(
    pods: Iterable[Mapping[str, Any]], queries: Iterable[Mapping[str, Any]], now: float
) -> dict[str, dict[str, float]]:
    """By `namespace/name` of the present queries: what their drivers and executors use of a quota."""
    query_of = {}
    for query in queries:
        meta = query["metadata"]
        query_of[meta["namespace"], names.object_name(meta["name"])] = f"{meta['namespace']}/{meta['name']}"
    usage: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for pod in pods:
        meta = pod["metadata"]
        name = query_of.get((meta["namespace"], meta["labels"].get(names.QUERY, "")))
        if name is not None:
            for resource, amount in counted(pod, now).items():
                usage[name][resource] += amount
    return {name: dict(amounts) for name, amounts in usage.items()}


def counted(pod: Mapping[str, Any], now: float) -> dict[str, float]:
    """By a quota's resource names. A pod that has ended, or should have ended twice its grace period ago,
    counts only as an object."""
    meta, spec = pod["metadata"], pod["spec"]
    ended = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if "deletionTimestamp" in meta:  # which includes the grace period once
        until = seconds(meta["deletionTimestamp"]) + float(meta.get("deletionGracePeriodSeconds") or 0)
        ended = ended or until < now
    if ended:
        return {"count/pods": 1.0}
    return PodAmounts(_amounts(spec, "requests"), _amounts(spec, "limits")).counted()


def _amounts(spec: Mapping[str, Any], what: str) -> dict[str, float]:
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    sections = [spec.get("resources", {}), *(container.get("resources", {}) for container in containers)]
    amounts = {r: effective(spec, r, what) for r in {r for part in sections for r in part.get(what, {})}}
    overhead = {r: parse_quantity(amount) for r, amount in spec.get("overhead", {}).items()}
    if what == "requests":
        return {r: amounts.get(r, 0.0) + overhead.get(r, 0.0) for r in {*amounts, *overhead}}
    return {r: amount + overhead.get(r, 0.0) for r, amount in amounts.items()}
