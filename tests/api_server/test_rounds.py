"""Whole rounds of the controller through its adapter, with pods that the test moves through their phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from weir_operator.controller.decision import WritePlacement
from weir_operator.controller.loop import Loop
from weir_operator.kube import names
from weir_operator.kube.api import ApiError
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.loop import build_loop
from weir_operator.kube.settings import OperatorSettings

from tests.api_server.kubelet import Kubelet
from tests.api_server.worlds import World, manifest

NODES = ("n1", "n2", "n3")
QUICK = {
    "strategy": {"name": "greedy"},
    "cooldown": "0s",
    "drift": {"minHeadroom": 0, "minGain": 1000, "hold": "0s"},
}
"""Plans at once, and moves nothing for a better plan."""


SQL = "SELECT s.k FROM s WHERE s.k > 1"


@dataclass
class Scene:
    """A stream on n1, a query that reads it, and the operator."""

    world: World
    kubelet: Kubelet = field(init=False)
    loop: Loop = field(init=False)
    cluster: KubernetesCluster = field(init=False)

    def __post_init__(self) -> None:
        self.kubelet = Kubelet(self.world, NODES)
        self.write("PlacementPolicy", "default", QUICK)
        stream = {
            "schema": "k BIGINT, ts TIMESTAMP",
            "eventTime": {"column": "ts", "watermark": "1s"},
            "source": {"rate": {"rowsPerSecond": 10}},
            "origin": {"node": "n1"},
            "rate": 10,
        }
        self.write("Stream", "s", stream)
        self.ask(SQL)
        self.start_operator()

    def start_operator(self) -> None:
        """Another replica, without memory."""
        settings = OperatorSettings(watch_namespaces=(self.world.namespace,), namespace=self.world.namespace)
        self.cluster = KubernetesCluster(self.world.api, settings)
        self.loop = build_loop(self.cluster, settings, lambda: True)

    def write(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        namespace = "" if kind == "PlacementPolicy" else self.world.namespace
        self.world.admin.apply(manifest(kind, namespace, name, spec=spec), "user")

    def ask(self, sql: str, **more: Any) -> None:
        self.write("StreamQuery", "q", {"sql": sql, "sink": {"noop": {}}, **more})

    def until(self, condition: Callable[[], object], rounds: int = 60) -> None:
        """Rounds, and a step of every pod after each."""
        for _ in range(rounds):
            if condition():
                return
            self.loop.once()
            self.kubelet.step()
        raise AssertionError(
            f"not within {rounds} rounds: {self.of('StreamQuery').get('status')} {self.pods()}"
        )

    def of(self, kind: str, name: str = "q") -> dict[str, Any]:
        return self.world.admin.get(kind, self.world.namespace, name) or {}

    def pods(self) -> dict[str, str]:
        """Name of each driver -> its node."""
        pods = self.world.admin.list("Pod", self.world.namespace, names.DRIVERS)
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}

    def condition(self, kind: str) -> str:
        conditions = self.of("StreamQuery").get("status", {}).get("conditions", ())
        return next((c["status"] for c in conditions if c["type"] == kind), "")

    def fragment(self, pod: str) -> str:
        return pod.rsplit("-e", 1)[0]

    def ready(self) -> bool:
        return self.condition("Ready") == "True" and self.condition("Reconciling") != "True"

    def events(self) -> set[str]:
        return {event["reason"] for event in self.world.admin.list("Event", self.world.namespace)}

    def versions(self) -> dict[str, str]:
        """Of everything that the operator writes."""
        kinds = (
            "Placement",
            "StreamQuery",
            "Stream",
            "Pod",
            "Role",
            "RoleBinding",
            "ServiceAccount",
            "Event",
        )
        return {
            f"{kind}/{m['metadata']['name']}": m["metadata"]["resourceVersion"]
            for kind in kinds
            for m in self.world.admin.list(kind, self.world.namespace)
        }


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


def test_a_query_is_planned_started_and_ready(scene: Scene) -> None:
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


def test_while_nothing_changes_nothing_is_written_also_by_a_new_replica(scene: Scene) -> None:
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


def test_from_a_cordoned_node_a_fragment_moves_by_a_hand_over(scene: Scene) -> None:
    scene.until(scene.ready)
    before = scene.pods()
    pod, node = min(before.items())
    scene.world.admin.merge("Node", "", node, {"spec": {"unschedulable": True}})
    scene.until(lambda: scene.ready() and node not in scene.pods().values(), 120)
    assert len(scene.pods()) == len(before)
    for epochs in scene.kubelet.writers.values():
        assert epochs == sorted(set(epochs)), "each epoch wrote once, one after the other"
    assert len(scene.kubelet.writers[scene.fragment(pod)]) > 1


def test_from_a_dead_node_a_fragment_moves_although_its_pod_stays(scene: Scene) -> None:
    scene.until(scene.ready)
    pod, node = min(scene.pods().items())
    scene.kubelet.die(node)
    fragment = scene.fragment(pod)
    scene.until(lambda: scene.pods().get(f"{fragment}-e2"))
    assert scene.pods()[f"{fragment}-e2"] != node
    assert scene.pods()[pod] == node, "its node has not said that it ended"


def test_an_edit_replaces_the_fragments_and_clears_away_the_old_ones(scene: Scene) -> None:
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


def test_what_people_write_into_a_placement_stays(scene: Scene) -> None:
    scene.until(scene.ready)
    scene.world.admin.merge("Placement", scene.world.namespace, "q", {"spec": {"pinned": 1}})
    scene.ask("SELECT s.k FROM s WHERE s.k > 2")
    for _ in range(10):
        scene.loop.once()
        scene.kubelet.step()
    assert scene.of("Placement")["spec"]["pinned"] == 1


def test_a_query_that_is_deleted_has_its_placement_and_pods_deleted(scene: Scene) -> None:
    """No garbage collector runs here: it is the operator that does it."""
    scene.ask(SQL, deletionPolicy="Delete")
    scene.until(scene.ready)
    assert scene.world.admin.delete("StreamQuery", scene.world.namespace, "q")
    scene.until(lambda: not scene.pods() and not scene.of("Placement"))
    scene.until(lambda: not list(scene.world.admin.list("Lease", scene.world.namespace, names.OF_FRAGMENTS)))


def test_what_is_kept_of_a_deleted_query_bears_its_uid_and_nothing_of_it_runs(scene: Scene) -> None:
    scene.ask(SQL, deletionPolicy="Retain")
    scene.until(scene.ready)
    uid = scene.of("StreamQuery")["metadata"]["uid"]
    assert scene.world.admin.delete("StreamQuery", scene.world.namespace, "q")

    def kept() -> dict[str, Any]:
        placements = scene.world.admin.list("Placement", scene.world.namespace)
        return next((p for p in placements if p["spec"].get("retained", {}).get("uid") == uid), {})

    scene.until(lambda: kept() and not scene.pods() and not scene.of("Placement"))
    assert "ownerReferences" not in kept()["metadata"], "nothing takes it along"


@pytest.mark.parametrize("collected", [True, False])
def test_a_deleted_query_is_taken_up_with_its_fragments(scene: Scene, collected: bool) -> None:
    """Whether or not the garbage collector has taken the leases: their epochs only rise."""
    scene.ask(SQL, deletionPolicy="Delete")
    scene.until(scene.ready)
    assert scene.of("Placement")["metadata"]["ownerReferences"]
    scene.ask(SQL)
    scene.until(lambda: "ownerReferences" not in scene.of("Placement")["metadata"])
    uid, before = scene.of("StreamQuery")["metadata"]["uid"], scene.pods()
    assert scene.world.admin.delete("StreamQuery", scene.world.namespace, "q")
    scene.until(lambda: not scene.pods() and not scene.of("Placement"))
    for lease in list(scene.world.admin.list("Lease", scene.world.namespace, names.OF_FRAGMENTS)):
        if collected:
            scene.world.admin.delete("Lease", scene.world.namespace, lease["metadata"]["name"])
    scene.ask("SELECT s.k FROM s WHERE s.k > 2", restoreFrom={"retained": uid})
    for _ in range(3):
        scene.loop.once()
    conditions = {c["type"]: c for c in scene.of("StreamQuery")["status"]["conditions"]}
    assert "spec.sql (or spec.operators) differs" in conditions["Stalled"]["message"]
    scene.ask(SQL, restoreFrom={"retained": uid})
    scene.until(scene.ready)
    assert {scene.fragment(pod) for pod in scene.pods()} == {scene.fragment(pod) for pod in before}
    assert not scene.pods().keys() & before.keys(), "with epochs of their own"
    scene.until(lambda: len(list(scene.world.admin.list("Placement", scene.world.namespace))) == 1)
    assert {"Retained", "Restored"} <= scene.events()


def test_a_full_quota_is_said_and_when_it_grows_the_query_starts(scene: Scene) -> None:
    quota = manifest("ResourceQuota", scene.world.namespace, "few", spec={"hard": {"pods": "0"}})
    assert scene.world.admin.create(quota)

    def grow(pods: str) -> None:
        changed = {"spec": {"hard": {"pods": pods}}}
        scene.world.admin.merge("ResourceQuota", scene.world.namespace, "few", changed)
        status = {"status": {"hard": {"pods": pods}, "used": {"pods": "0"}}}
        scene.world.admin.merge("ResourceQuota", scene.world.namespace, "few", status, "status")

    grow("0")
    for _ in range(4):
        scene.loop.once()
    assert scene.pods() == {}
    conditions = {c["type"]: c for c in scene.of("StreamQuery")["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "False"
    assert "ResourceQuota" in conditions["Ready"]["message"]
    grow("10")
    scene.until(scene.ready)


def test_in_a_namespace_that_is_ending_rounds_go_on_and_nothing_is_made(scene: Scene) -> None:
    assert scene.world.admin.delete("Namespace", "", scene.world.namespace)
    for _ in range(3):
        scene.loop.once()
    assert scene.pods() == {}
    assert not scene.of("Placement")


def test_a_placement_that_was_deleted_is_not_made_again_by_a_replica_that_led_before(scene: Scene) -> None:
    """The version that it read is no precondition where there is no object any more; the uid is."""
    scene.until(scene.ready)
    late, query = scene.cluster, f"{scene.world.namespace}/q"
    late.observe()
    assert scene.world.admin.delete("Placement", scene.world.namespace, "q")
    with pytest.raises(ApiError) as refused:
        late.write_placement(WritePlacement(query, {"revision": 9, "fragments": []}, {"ready": "9/9"}))
    assert refused.value.status == 409
    assert not scene.of("Placement")


def test_any_text_in_a_query_is_planned_started_and_reported(scene: Scene) -> None:
    scene.ask("SELECT s.k, '😀 é ' || '\u2028' AS note FROM s WHERE s.k > 1")
    scene.until(scene.ready)


def test_a_late_driver_cannot_take_its_lease_back(scene: Scene) -> None:
    scene.until(scene.ready)
    fragment = scene.fragment(min(scene.pods()))
    before = scene.of("Lease", fragment)
    scene.world.admin.merge("Lease", scene.world.namespace, fragment, {"spec": {"leaseTransitions": 2}})
    with pytest.raises(ApiError) as refused:
        scene.world.admin.replace(before)
    assert refused.value.status == 409
