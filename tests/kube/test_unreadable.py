"""What a tenant writes under Weir's labels is left out: said by object, field and value, and counted."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from weir_operator.controller.observed_state import Lease
from weir_operator.kube import names
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import Liveness
from weir_operator.kube.self_metrics import ClusterCollector
from weir_operator.kube.settings import OperatorSettings

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import loop, one_query
from tests.kube.memory import Manifest, Memory
from tests.kube.test_cluster import labelled
from tests.kube.test_self_metrics import CountedApi

OF_F = {names.FRAGMENT: "f", names.EPOCH: "1", names.ROLE: "driver"}
HELD = {"holderIdentity": "f-e1:7:1", "leaseTransitions": 1, "leaseDurationSeconds": 10}


def pod(name: str = "f-e1", notes: dict[str, str] | None = None, **changes: Any) -> Manifest:
    manifest = labelled("Pod", name, {**OF_F, **changes.pop("labels", {})})
    manifest["metadata"]["annotations"] = notes or {}
    return {**manifest, "spec": {"containers": []}, "status": {"phase": "Pending"}, **changes}


def lease(name: str = "f", namespace: str = "a", fragment: str = "f", **notes: str) -> Manifest:
    manifest = labelled("Lease", name, {names.FRAGMENT: fragment}, spec=HELD)
    manifest["metadata"] |= {"namespace": namespace, "annotations": notes}
    return manifest


def observed(*objects: Manifest) -> KubernetesCluster:
    adapter = KubernetesCluster(Memory(*objects).api, OperatorSettings(), lambda: 1767225600.0)
    adapter.observe()
    return adapter


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (
            pod(labels={names.EPOCH: "one"}),
            "Pod/a/f-e1: metadata.labels.weir.dev/epoch: 'one' is not an epoch",
        ),
        (
            pod(notes={names.FRAGMENT: "g"}),
            "Pod/a/f-e1: metadata.annotations.weir.dev/fragment: 'g' is not the fragment of the label, f",
        ),
        (pod(spec={"containers": "x"}), "Pod/a/f-e1: spec.containers: 'x' is not usable"),
        (
            pod(status={"conditions": [{"type": "Ready", "lastTransitionTime": "noon"}]}),
            "Pod/a/f-e1: status.conditions.0.lastTransitionTime: 'noon' is not a time",
        ),
        (lease(name="g"), "Lease/a/g: metadata.labels.weir.dev/fragment: 'f' is not the object's name"),
        (
            lease(**{names.HANDOVER: "9" * 5000}),
            f"Lease/a/f: metadata.annotations.weir.dev/handover-epoch: '{'9' * 79}... is not an epoch",
        ),
        (
            lease(**{names.CHANGE: "[" * 100_000}),
            f"Lease/a/f: metadata.annotations.weir.dev/change: '{'[' * 79}... is not a Change",
        ),
        (
            {**lease(), "spec": {**HELD, "renewTime": "yesterday"}},
            "Lease/a/f: spec.renewTime: 'yesterday' is not a time",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_is_said_once_by_object_field_and_value(
    manifest: Manifest, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    adapter = observed(manifest)
    adapter.observe()
    lines = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert len(lines) == 1
    assert words in lines[0]


def test_they_are_counted_until_they_are_gone(caplog: pytest.LogCaptureFixture) -> None:
    memory = Memory(pod(labels={names.EPOCH: "x"}), pod("other", labels={names.EPOCH: "y"}), lease(name="g"))
    adapter = KubernetesCluster(memory.api, OperatorSettings(), lambda: 1767225600.0)
    adapter.observe()
    assert adapter.unreadable_objects() == {("Pod", "a"): 2, ("Lease", "a"): 1}
    the_loop = loop(one_query(), FakeCluster())
    registry = CollectorRegistry()
    registry.register(
        ClusterCollector(adapter, the_loop, Liveness(), Leads(memory.api, "ns", "me"), CountedApi())
    )  # type: ignore[arg-type]
    labels = {"kind": "Pod", "namespace": "a"}
    assert registry.get_sample_value("weir_operator_unreadable_objects", labels) == 2
    del memory.objects["Pod", "a", "other"]
    adapter.observe()
    adapter.observe()
    assert registry.get_sample_value("weir_operator_unreadable_objects", labels) == 1


class Leads(Leader):
    def leads(self) -> bool:
        return True


def test_a_broken_annotation_does_not_hide_the_rest_of_a_lease() -> None:
    adapter = observed(lease(**{names.HANDOVER: "x", names.CHANGE: "{}x"}))
    assert adapter.observe().leases == {"f": Lease("f", 1, "f-e1:7:1", 0.0, 10.0)}


def test_a_lease_named_as_another_namespaces_is_not_that_ones() -> None:
    """Its label names a fragment of its own namespace, its name the victim's."""
    mine = lease("victim", "evil", "own-of-evil")
    theirs = lease("victim", "a", "victim")
    seen = observed(theirs, {**mine, "spec": {**HELD, "leaseTransitions": 99}}).observe().leases
    assert seen["victim"].epoch == 1


def test_a_pod_that_says_in_an_annotation_that_it_is_anothers_is_no_process_of_that_one() -> None:
    forged = pod("own-e7", {names.FRAGMENT: "victim"}, labels={names.FRAGMENT: "own", names.EPOCH: "7"})
    forged["metadata"]["namespace"] = "evil"
    assert observed(forged).observe().processes == ()


def test_a_budget_named_as_another_namespaces_does_not_protect_that_one() -> None:
    budget = labelled("PodDisruptionBudget", "victim", {names.FRAGMENT: "own"})
    assert observed(budget).observe().protected == frozenset()


def test_nothing_is_swept_where_a_placement_cannot_be_read() -> None:
    memory = Memory(
        {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "a", "name": "weir-exchange"}}
    )
    meta = {"namespace": "a", "name": "q"}
    memory.put({"kind": "Placement", "metadata": meta, "spec": {"fragments": "broken"}})
    adapter = KubernetesCluster(memory.api, OperatorSettings(), lambda: 1767225600.0)
    adapter.observe()
    assert memory.names("Pod") == set(), "whose files would go is not known"
    memory.put({"kind": "Placement", "metadata": meta, "spec": {"fragments": []}})
    adapter.observe()
    adapter.observe()
