"""What stays when it is deleted, and for how long. What an owner takes with it is the garbage collector's, a
controller's work, which no API server does by itself."""

from __future__ import annotations

from typing import Any

from tests.api_server.worlds import World, manifest


def pod(world: World) -> dict[str, Any]:
    return manifest("Pod", world.namespace, "p", spec={"containers": [{"name": "c", "image": "i"}]})


def test_with_a_finalizer_an_object_stays_and_can_still_be_written(world: World) -> None:
    spec = {"revision": 1, "fragments": []}
    placement = manifest("Placement", world.namespace, "q", spec=spec)
    uid = world.api.apply(placement)["metadata"]["uid"]
    world.admin.merge("Placement", world.namespace, "q", {"metadata": {"finalizers": ["a.b/c"]}})
    assert world.api.delete("Placement", world.namespace, "q", uid)
    ending = world.api.apply({**placement, "spec": {**spec, "revision": 2}})
    assert ending["metadata"]["deletionTimestamp"]
    assert ending["metadata"]["finalizers"] == ["a.b/c"]
    assert world.api.delete("Placement", world.namespace, "q", uid), "again"
    world.admin.merge("Placement", world.namespace, "q", {"metadata": {"finalizers": None}})
    assert world.api.get("Placement", world.namespace, "q") is None


def test_a_pod_on_a_node_ends_when_its_node_says_so(world: World) -> None:
    assert world.api.create(pod(world))
    world.bind("p", "n1")
    assert world.api.delete("Pod", world.namespace, "p")
    stored = world.api.get("Pod", world.namespace, "p")
    assert stored is not None
    assert "deletionTimestamp" in stored["metadata"]
    assert not world.api.create(pod(world)), "its name is taken until then"
    world.end("p")
    assert world.api.create(pod(world))


def test_a_pod_on_no_node_is_gone_at_once(world: World) -> None:
    assert world.api.create(pod(world))
    assert world.api.delete("Pod", world.namespace, "p")
    assert world.api.get("Pod", world.namespace, "p") is None


def test_a_pod_whose_work_is_over_is_gone_at_once_too(world: World) -> None:
    assert world.api.create(pod(world))
    world.bind("p", "n1")
    world.admin.merge("Pod", world.namespace, "p", {"status": {"phase": "Succeeded"}}, "status")
    assert world.api.delete("Pod", world.namespace, "p")
    assert world.api.get("Pod", world.namespace, "p") is None


def test_what_was_owned_stays_where_no_collector_runs(world: World) -> None:
    owner = world.api.apply(manifest("Lease", world.namespace, "owner"))["metadata"]
    reference = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "name": "owner",
        "uid": owner["uid"],
    }
    meta = {"ownerReferences": [reference]}
    world.api.apply(manifest("Lease", world.namespace, "owned", metadata=meta))
    assert world.api.delete("Lease", world.namespace, "owner", owner["uid"])
    assert world.api.get("Lease", world.namespace, "owned") is not None
