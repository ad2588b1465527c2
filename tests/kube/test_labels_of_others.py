"""Objects with our labels whose content is somebody else's: they are not looked at, or not believed."""

from __future__ import annotations

from typing import Any

import pytest
from weir_operator.controller.decision import CleanUp, HandOver, Protect, Stop, WritePlacement
from weir_operator.controller.observed_state import Requests
from weir_operator.kube import names

from tests.kube.memory import Manifest, Memory
from tests.kube.test_cluster import SECOND, cluster, labelled, placed


def labelled_as_ours(kind: str, name: str, **more: Any) -> Manifest:
    return labelled(kind, name, {names.FRAGMENT: name, names.ROLE: "driver", names.EPOCH: "1"}, **more)


def test_a_lease_that_is_named_as_something_else_has_nothing_deleted() -> None:
    memory = Memory()
    adapter = placed(memory)
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x", "uid": "u"}]
    for kind in ("ServiceAccount", "Role", "RoleBinding", "PodDisruptionBudget"):
        memory.put({"kind": kind, "metadata": {"namespace": "a", "name": "postgres"}})
    memory.put(labelled_as_ours("Lease", "postgres"))
    pod = labelled_as_ours("Pod", "postgres-e1", spec={"containers": []})
    pod["metadata"] |= {
        "ownerReferences": owner,
        "labels": pod["metadata"]["labels"] | {names.FRAGMENT: "postgres"},
    }
    memory.put(pod)
    adapter.observe()
    before = dict(memory.objects)
    for action in (
        Stop("postgres", 1, "no longer desired"),
        CleanUp("postgres", ""),
        Protect("postgres", "", False),
    ):
        adapter.apply(action)
    assert memory.objects == before


def test_only_pods_that_are_known_are_not_foreign_load() -> None:
    """Those of another release, or of a tenant who writes the labels, take room that is not ours."""
    memory = Memory()
    placed(memory)
    container = {"resources": {"requests": {"cpu": "1"}}}
    for name in ("f1-e7", "other-e1", "f1-e1x"):
        fragment, epoch = name.split("-e")
        labels = {names.FRAGMENT: fragment, names.ROLE: "driver", names.EPOCH: epoch.rstrip("x")}
        memory.put(labelled("Pod", name, labels, spec={"nodeName": "n9", "containers": [container]}))
    mine = memory.objects["Pod", "a", "f1-e1"]
    memory.put({**mine, "spec": {**mine["spec"], "nodeName": "n9"}})
    foreign = cluster(memory).observe().foreign
    assert foreign == {"n9": Requests(3.0, 0.0)}


@pytest.mark.parametrize(
    "stranger",
    [
        labelled("Lease", "x", {}),
        labelled("PodDisruptionBudget", "x", {}),
        labelled("Pod", "x", {names.ROLE: "driver"}, spec={"containers": []}),
        labelled("Pod", "x", {names.ROLE: "driver", names.FRAGMENT: "f", names.EPOCH: "new"}, spec={}),
        labelled("Pod", "x", {names.ROLE: "driver", names.FRAGMENT: "f", names.EPOCH: "9" * 40}, spec={}),
    ],
    ids=["lease", "budget", "pod", "epoch", "number"],
)
def test_objects_that_only_look_like_ours_are_not_looked_at(stranger: Manifest) -> None:
    memory = Memory()
    adapter = placed(memory)
    before = adapter.observe()
    memory.put(stranger)
    after = adapter.observe()
    assert (after.processes, after.leases, after.protected) == (before.processes, before.leases, frozenset())


@pytest.mark.parametrize("later", [False, True], ids=["known", "claimed later"])
def test_another_namespace_cannot_speak_for_a_fragment(later: bool) -> None:
    """Whoever may make Leases and Pods in his namespace may give them any label."""
    memory = Memory()
    adapter = placed(memory)
    meta = {"revision": 1, "fragments": [{"name": "f1", "node": "n1"}]}
    adapter.write_placement(WritePlacement("a/q", meta, {"owned": ["f1"]}))
    before = adapter.observe()
    if later:
        claim = {"namespace": "0", "name": "mine", "creationTimestamp": SECOND.format(9)}
        memory.put({"kind": "Placement", "metadata": claim, "spec": {"fragments": [{"name": "f1"}]}})
        memory.objects["Placement", "a", "q"]["metadata"]["creationTimestamp"] = SECOND.format(1)
    for kind, name in (("Lease", "f1"), ("Pod", "f1-e1"), ("PodDisruptionBudget", "f1")):
        labels = {names.FRAGMENT: "f1", names.ROLE: "driver", names.EPOCH: "7"}
        spoof = labelled(kind, name, labels, spec={"leaseTransitions": 9, "minAvailable": "50%"})
        spoof["metadata"]["namespace"] = "0"
        memory.put(spoof)
    after = adapter.observe()
    assert (after.leases, after.processes, after.protected) == (before.leases, before.processes, frozenset())
    adapter.apply(HandOver("f1", 2))
    assert names.HANDOVER in memory.objects["Lease", "a", "f1"]["metadata"]["annotations"]


@pytest.mark.parametrize(
    "note",
    [
        {names.HANDOVER: "soon"},
        {names.CHANGE: "{"},
        {names.CHANGE: "[]"},
        {names.CHANGE: '{"lead": 1.0, "time": "soon"}'},
        {names.CHANGE: '{"lead": 1.0, "sooner": 1}'},
    ],
    ids=str,
)
def test_what_a_driver_should_not_write_into_its_lease_stops_nobody(note: dict[str, str]) -> None:
    memory = Memory()
    adapter = placed(memory)
    lease_spec = {"leaseTransitions": 1, "renewTime": SECOND.format(0), "leaseDurationSeconds": 15}
    memory.merge("Lease", "a", "f1", {"metadata": {"annotations": note}, "spec": lease_spec})
    lease = adapter.observe().leases["f1"]
    assert (lease.epoch, lease.handover, lease.change) == (1, None, None)
