"""What stays when it is deleted, and for how long. What an owner takes with it is the garbage collector's, a
controller's work, which no API server does by itself."""

from __future__ import annotations

from typing import Any

from tests.api_server.api_under_test import ApiUnderTest, manifest


def pod(target: ApiUnderTest) -> dict[str, Any]:
    return manifest("Pod", target.namespace, "p", spec={"containers": [{"name": "c", "image": "i"}]})


def test_with_a_finalizer_an_object_stays_and_can_still_be_written(target: ApiUnderTest) -> None:
    spec = {"revision": 1, "fragments": []}
    placement = manifest("Placement", target.namespace, "q", spec=spec)
    uid = target.api.apply(placement)["metadata"]["uid"]
    target.admin.merge("Placement", target.namespace, "q", {"metadata": {"finalizers": ["a.b/c"]}})
    assert target.api.delete("Placement", target.namespace, "q", uid)
    ending = target.api.apply({**placement, "spec": {**spec, "revision": 2}})
    assert ending["metadata"]["deletionTimestamp"]
    assert ending["metadata"]["finalizers"] == ["a.b/c"]
    assert target.api.delete("Placement", target.namespace, "q", uid), "again"
    target.admin.merge("Placement", target.namespace, "q", {"metadata": {"finalizers": None}})
    assert target.api.get("Placement", target.namespace, "q") is None


def test_a_pod_on_a_node_ends_when_its_node_says_so(target: ApiUnderTest) -> None:
    assert target.api.create(pod(target))
    target.bind("p", "n1")
    assert target.api.delete("Pod", target.namespace, "p")
    stored = target.api.get("Pod", target.namespace, "p")
    assert stored is not None
    assert "deletionTimestamp" in stored["metadata"]
    assert not target.api.create(pod(target)), "its name is taken until then"
    target.end("p")
    assert target.api.create(pod(target))


def test_a_pod_on_no_node_is_gone_at_once(target: ApiUnderTest) -> None:
    assert target.api.create(pod(target))
    assert target.api.delete("Pod", target.namespace, "p")
    assert target.api.get("Pod", target.namespace, "p") is None


def test_a_pod_whose_work_is_over_is_gone_at_once_too(target: ApiUnderTest) -> None:
    assert target.api.create(pod(target))
    target.bind("p", "n1")
    target.admin.merge("Pod", target.namespace, "p", {"status": {"phase": "Succeeded"}}, "status")
    assert target.api.delete("Pod", target.namespace, "p")
    assert target.api.get("Pod", target.namespace, "p") is None


def test_what_was_owned_stays_where_no_collector_runs(target: ApiUnderTest) -> None:
    owner = target.api.apply(manifest("Lease", target.namespace, "owner"))["metadata"]
    reference = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": "owner",
        "uid": owner["uid"],
    }
    meta = {"ownerReferences": [reference]}
    target.api.apply(manifest("Lease", target.namespace, "owned", metadata=meta))
    assert target.api.delete("Lease", target.namespace, "owner", owner["uid"])
    assert target.api.get("Lease", target.namespace, "owned") is not None
