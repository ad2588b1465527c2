"""What pods that are there hold of a namespace's quota, and quotas as they are observed."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.kube import names
from weir_operator.kube.quota import counted, usage_by_query

from tests.kube.memory import Memory
from tests.kube.test_cluster import cluster, placed

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
ASKED = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}


def pod(**changes: Any) -> dict[str, Any]:
    meta = {"name": "f1-e1", "namespace": "a", "labels": {names.QUERY: "q"}, **changes.pop("metadata", {})}
    return {
        "metadata": meta,
        "spec": {"containers": [{"resources": ASKED}], **changes.pop("spec", {})},
        **changes,
    }


def test_requests_and_limits_with_the_overhead_of_a_runtime_class() -> None:
    sidecar = {"resources": {"requests": {"cpu": "50m"}, "limits": {"cpu": "1"}}}
    spec = {"containers": [{"resources": ASKED}, sidecar], "overhead": {"cpu": "250m", "memory": "120Mi"}}
    amounts = counted(pod(spec=spec), NOW)
    assert (amounts["pods"], amounts["count/pods"]) == (1.0, 1.0)
    assert amounts["requests.cpu"] == amounts["cpu"] == pytest.approx(0.4)
    assert amounts["requests.memory"] == amounts["limits.memory"] == (1024 + 120) * 2.0**20
    assert amounts["limits.cpu"] == 1.25


@pytest.mark.parametrize(
    "ended",
    [
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Failed"}},
        {"metadata": {"deletionTimestamp": "2025-12-31T23:58:00Z", "deletionGracePeriodSeconds": 60}},
    ],
)
def test_a_pod_that_has_ended_is_an_object_only(ended: dict[str, Any]) -> None:
    assert counted(pod(**ended), NOW) == {"count/pods": 1.0}


def test_a_pod_that_is_ending_counts_until_its_grace_is_over() -> None:
    ending = {"deletionTimestamp": "2025-12-31T23:59:30Z", "deletionGracePeriodSeconds": 60}
    assert counted(pod(metadata=ending), NOW)["pods"] == 1.0


def test_pods_of_queries_that_are_gone_are_others() -> None:
    query = {"metadata": {"namespace": "a", "name": "q"}}
    strange = pod(metadata={"namespace": "b"})
    usage = usage_by_query([pod(), pod(), strange], [query], NOW)
    assert set(usage) == {"a/q"}
    assert usage["a/q"]["pods"] == 2.0


def test_quotas_and_what_is_held_of_them_are_observed() -> None:
    memory = Memory()
    amounts = placed(memory)
    meta = {"namespace": "a", "name": "small"}
    memory.put(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "2"}}}
    )
    memory.put({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": {"limits": []}})
    observed = amounts.observe()
    assert {o["kind"] for o in observed.objects} >= {"ResourceQuota", "LimitRange"}
    assert observed.quota_usage["a/q"]["requests.cpu"] == 0.1
    assert cluster(Memory()).observe().quota_usage == {}
