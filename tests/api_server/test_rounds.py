"""Whole rounds of the controller through its adapter, with pods that the test moves through their phases."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.controller.decision import Protect
from weir_operator.kube import names
from weir_operator.kube.api import ApiError

from tests.api_server.api_under_test import manifest
from tests.api_server.scene import SQL, ApiScene


def test_a_query_is_planned_started_and_ready(scene: ApiScene) -> None:
    scene.ask(SQL, deletionPolicy="Delete")
    scene.until(scene.ready)
    placement, query = scene.of("Placement"), scene.of("StreamQuery")
    (owner,) = placement["metadata"]["ownerReferences"]
    assert owner["uid"] == query["metadata"]["uid"]
    assert query["status"]["observedGeneration"] == query["metadata"]["generation"]
    fragments = {f["name"]: f["node"] for f in placement["spec"]["fragments"]}
    assert scene.pods() == {names.pod_name(name, 1): node for name, node in fragments.items()}
    for fragment in fragments:
        for kind, name in (("Pod", names.pod_name(fragment, 1)), ("Lease", fragment), ("Role", fragment)):
            (owner,) = scene.of(kind, name)["metadata"]["ownerReferences"]
            assert owner["uid"] == placement["metadata"]["uid"]
    assert "Planned" in scene.events()


def test_while_nothing_changes_nothing_is_written_also_by_a_new_replica(scene: ApiScene) -> None:
    scene.until(scene.ready)
    for _ in range(3):
        scene.loop.once()
    before = scene.versions()
    for _ in range(3):
        scene.loop.once()
    scene.start_operator()
    for _ in range(3):
        scene.loop.once()
    assert scene.versions() == before


def test_from_a_cordoned_node_a_fragment_moves_by_a_hand_over(scene: ApiScene) -> None:
    scene.until(scene.ready)
    before = scene.pods()
    pod, node = min(before.items())
    scene.target.admin.merge("Node", "", node, {"spec": {"unschedulable": True}})
    scene.until(lambda: scene.ready() and node not in scene.pods().values(), 120)
    assert len(scene.pods()) == len(before)
    for epochs in scene.kubelet.writers.values():
        assert epochs == sorted(set(epochs)), "each epoch wrote once, one after the other"
    assert len(scene.kubelet.writers[scene.fragment(pod)]) > 1


def test_from_a_dead_node_a_fragment_moves_although_its_pod_stays(scene: ApiScene) -> None:
    scene.until(scene.ready)
    pod, node = min(scene.pods().items())
    scene.kubelet.die(node)
    fragment = scene.fragment(pod)
    scene.until(lambda: scene.pods().get(f"{fragment}-e2"))
    assert scene.pods()[f"{fragment}-e2"] != node
    assert scene.pods()[pod] == node, "its node has not said that it ended"


def test_an_edit_replaces_the_fragments_and_clears_away_the_old_ones(scene: ApiScene) -> None:
    scene.until(scene.ready)
    before = min(scene.pods())
    scene.ask("SELECT s.k FROM s WHERE s.k > 2")
    assert scene.of("StreamQuery")["metadata"]["generation"] == 2
    scene.until(lambda: scene.of("StreamQuery")["status"]["observedGeneration"] == 2)
    old = scene.fragment(before)
    scene.until(lambda: not scene.of("Lease", old) and before not in scene.pods(), 120)
    scene.until(scene.ready)
    for kind in ("Role", "RoleBinding", "ServiceAccount", "PodDisruptionBudget"):
        assert not scene.of(kind, old)


def test_a_budget_comes_goes_and_comes_again(scene: ApiScene) -> None:
    scene.until(scene.ready)
    fragment, query = scene.fragment(min(scene.pods())), f"{scene.target.namespace}/q"
    scene.cluster.observe()
    for executors in (0, 0, 2):
        scene.cluster.apply(Protect(fragment, query, True, executors=executors))
        assert scene.of("PodDisruptionBudget", fragment)["spec"]["minAvailable"] == 1 + executors
    assert fragment in scene.cluster.observe().protected
    for _ in range(2):
        scene.cluster.apply(Protect(fragment, "", False))
        assert fragment not in scene.cluster.observe().protected


def test_what_people_write_into_a_placement_stays(scene: ApiScene) -> None:
    scene.until(scene.ready)
    scene.target.admin.merge("Placement", scene.target.namespace, "q", {"spec": {"pinned": 1}})
    scene.ask("SELECT s.k FROM s WHERE s.k > 2")
    for _ in range(10):
        scene.loop.once()
        scene.kubelet.step()
    assert scene.of("Placement")["spec"]["pinned"] == 1


def test_a_query_that_is_deleted_has_its_placement_and_pods_deleted(scene: ApiScene) -> None:
    """No garbage collector runs here: it is the operator that does it."""
    scene.ask(SQL, deletionPolicy="Delete")
    scene.until(scene.ready)
    assert scene.target.admin.delete("StreamQuery", scene.target.namespace, "q")
    scene.until(lambda: not scene.pods() and not scene.of("Placement"))
    scene.until(
        lambda: not list(scene.target.admin.list("Lease", scene.target.namespace, names.OF_FRAGMENTS))
    )


def test_what_is_kept_of_a_deleted_query_bears_its_uid_and_nothing_of_it_runs(scene: ApiScene) -> None:
    scene.ask(SQL, deletionPolicy="Retain")
    scene.until(scene.ready)
    uid = scene.of("StreamQuery")["metadata"]["uid"]
    assert scene.target.admin.delete("StreamQuery", scene.target.namespace, "q")

    def kept() -> dict[str, Any]:
        placements = scene.target.admin.list("Placement", scene.target.namespace)
        return next((p for p in placements if p["spec"].get("retained", {}).get("uid") == uid), {})

    scene.until(lambda: kept() and not scene.pods() and not scene.of("Placement"))
    assert "ownerReferences" not in kept()["metadata"], "nothing takes it along"


@pytest.mark.parametrize("collected", [True, False])
def test_a_deleted_query_is_taken_up_with_its_fragments(scene: ApiScene, collected: bool) -> None:
    """Whether or not the garbage collector has taken the leases: their epochs only rise."""
    scene.ask(SQL, deletionPolicy="Delete")
    scene.until(scene.ready)
    assert scene.of("Placement")["metadata"]["ownerReferences"]
    scene.ask(SQL)
    scene.until(lambda: "ownerReferences" not in scene.of("Placement")["metadata"])
    uid, before = scene.of("StreamQuery")["metadata"]["uid"], scene.pods()
    assert scene.target.admin.delete("StreamQuery", scene.target.namespace, "q")
    scene.until(lambda: not scene.pods() and not scene.of("Placement"))
    for lease in list(scene.target.admin.list("Lease", scene.target.namespace, names.OF_FRAGMENTS)):
        if collected:
            scene.target.admin.delete("Lease", scene.target.namespace, lease["metadata"]["name"])
    scene.ask("SELECT s.k FROM s WHERE s.k > 2", restoreFrom={"retained": uid})
    for _ in range(3):
        scene.loop.once()
    conditions = {c["type"]: c for c in scene.of("StreamQuery")["status"]["conditions"]}
    assert "spec.sql (or spec.operators) differs" in conditions["Stalled"]["message"]
    scene.ask(SQL, restoreFrom={"retained": uid})
    scene.until(scene.ready)
    assert {scene.fragment(pod) for pod in scene.pods()} == {scene.fragment(pod) for pod in before}
    assert not scene.pods().keys() & before.keys(), "with epochs of their own"
    scene.until(lambda: len(list(scene.target.admin.list("Placement", scene.target.namespace))) == 1)
    assert {"Retained", "Restored"} <= scene.events()


def test_a_full_quota_is_said_and_when_it_grows_the_query_starts(scene: ApiScene) -> None:
    quota = manifest("ResourceQuota", scene.target.namespace, "few", spec={"hard": {"pods": "0"}})
    assert scene.target.admin.create(quota)

    def grow(pods: str) -> None:
        changed = {"spec": {"hard": {"pods": pods}}}
        scene.target.admin.merge("ResourceQuota", scene.target.namespace, "few", changed)
        status = {"status": {"hard": {"pods": pods}, "used": {"pods": "0"}}}
        scene.target.admin.merge("ResourceQuota", scene.target.namespace, "few", status, "status")

    grow("0")
    for _ in range(4):
        scene.loop.once()
    assert scene.pods() == {}
    conditions = {c["type"]: c for c in scene.of("StreamQuery")["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "False"
    assert "ResourceQuota" in conditions["Ready"]["message"]
    grow("10")
    scene.until(scene.ready)


def test_in_a_namespace_that_is_ending_rounds_go_on_and_nothing_is_made(scene: ApiScene) -> None:
    assert scene.target.admin.delete("Namespace", "", scene.target.namespace)
    for _ in range(3):
        scene.loop.once()
    assert scene.pods() == {}
    assert not scene.of("Placement")


def test_any_text_in_a_query_is_planned_started_and_reported(scene: ApiScene) -> None:
    scene.ask("SELECT s.k, '😀 é ' || '\u2028' AS note FROM s WHERE s.k > 1")
    scene.until(scene.ready)


def test_a_late_driver_cannot_take_its_lease_back(scene: ApiScene) -> None:
    scene.until(scene.ready)
    fragment = scene.fragment(min(scene.pods()))
    before = scene.of("Lease", fragment)
    scene.target.admin.merge("Lease", scene.target.namespace, fragment, {"spec": {"leaseTransitions": 2}})
    with pytest.raises(ApiError) as refused:
        scene.target.admin.replace(before)
    assert refused.value.status == 409
