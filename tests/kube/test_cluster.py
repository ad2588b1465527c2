"""The cluster port over an API server in memory: what one namespace does wrong stops no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.decision import (
    CleanUp,
    DeletePlacement,
    Event,
    HandOver,
    Protect,
    RequestCut,
    Start,
    WritePlacement,
    WriteStatus,
)
from weir_operator.controller.ports import Gone, Refused
from weir_operator.kube import names
from weir_operator.kube.api import ApiError, NoAnswer, ObjectGone
from weir_operator.kube.cluster import KubernetesCluster
from weir_operator.kube.rights import RIGHTS
from weir_operator.kube.settings import OperatorSettings
from weir_placement.model.change import Change
from weir_placement.model.fragment import FragmentSpec, Output
from weir_runtime.kubernetes_record import manifest_of, record_of
from weir_runtime.lease import LeaseRecord, may_take

from tests.kube.memory import Manifest, Memory

SECOND = "2026-01-01T00:00:0{}Z"


def query(namespace: str, name: str = "q") -> Manifest:
    return {"kind": "StreamQuery", "metadata": {"namespace": namespace, "name": name}, "spec": {}}


def spec(namespace: str = "a", name: str = "f1") -> FragmentSpec:
    return FragmentSpec(
        name=name, namespace=namespace, query="q", node="n1", epoch=1, inputs=(), operators=(),
        output=Output("noop"), checkpoint="/c", lease="kubernetes:a/f1", state="/s",
    )  # fmt: skip


def start(namespace: str = "a") -> Start:
    return Start(spec(namespace), "b1", f"{namespace}/q")


def labelled(kind: str, name: str, labels: dict[str, str], **more: Any) -> Manifest:
    meta = {"namespace": "a", "name": name, "labels": {names.MANAGED_BY: "weir", **labels}}
    return {"kind": kind, "metadata": meta, **more}


def cluster(memory: Memory) -> KubernetesCluster:
    """The port, with the rights that the chart grants and no others."""
    memory.rights = RIGHTS
    return KubernetesCluster(memory.api, OperatorSettings(), lambda: 1767225600.0)


def placed(memory: Memory) -> KubernetesCluster:
    """With a query whose Placement is written and whose first fragment is started."""
    memory.put(query("a"))
    adapter = cluster(memory)
    adapter.observe()
    adapter.write_placement(WritePlacement("a/q", {"revision": 1, "fragments": []}, {"ready": "0/1"}))
    adapter.apply(start())
    adapter.observe()
    return adapter


def test_what_is_started_is_observed_owned_and_forgotten() -> None:
    memory = Memory()
    adapter = placed(memory)
    observed = adapter.observe()
    assert [(p.fragment, p.epoch, p.planned_node, p.build) for p in observed.processes] == [
        ("f1", 1, "n1", "b1")
    ]
    (placement,) = [o for o in memory.objects.values() if o["kind"] == "Placement"]
    assert placement["status"] == {"ready": "0/1"}
    for kind in ("Pod", "Lease", "Role", "RoleBinding", "ServiceAccount"):
        (owner,) = memory.objects[kind, "a", "f1-e1" if kind == "Pod" else "f1"]["metadata"][
            "ownerReferences"
        ]
        assert owner["uid"] == placement["metadata"]["uid"]
    adapter.apply(start())
    assert len(memory.names("Pod")) == 1, "a start may be applied twice"
    adapter.apply(Protect("f1", "a/q", True))
    assert adapter.observe().protected == {"f1"}
    adapter.apply(CleanUp("f1", ""))
    assert {kind for kind, _, _ in memory.objects} == {"StreamQuery", "Placement", "Pod"}


def test_a_fragment_runs_the_image_that_it_is_started_with() -> None:
    memory = Memory()
    port = placed(memory)
    port.apply(Start(replace(spec(), epoch=2), "b2", "a/q", image="runtime:before"))
    images = {process.epoch: process.image for process in port.observe().processes}
    assert images == {1: OperatorSettings().runtime_image, 2: "runtime:before"}


def test_without_its_policy_nothing_is_started_as_the_built_in_one_says() -> None:
    """Its pod template may have been what keeps tenants apart."""
    memory = Memory()
    adapter = placed(memory)
    with pytest.raises(Refused, match="PlacementPolicy strict"):
        adapter.apply(replace(start(), spec=replace(spec(), epoch=2), policy="strict"))
    assert memory.names("Pod") == {"f1-e1"}


def test_a_replica_that_led_before_overwrites_no_intent() -> None:
    memory = Memory()
    late = placed(memory)
    leader = cluster(memory)
    leader.observe()
    leader.write_placement(WritePlacement("a/q", {"revision": 2, "fragments": []}, {"ready": "1/1"}))
    with pytest.raises(ApiError, match="modified"):
        late.write_placement(WritePlacement("a/q", {"revision": 9, "fragments": []}, {"ready": "9/9"}))
    stored = memory.objects["Placement", "a", "q"]
    assert (stored["spec"]["revision"], stored["status"]["ready"]) == (2, "1/1")
    leader.write_placement(WritePlacement("a/q", {"revision": 3, "fragments": []}, {"ready": "2/2"}))


def test_a_placement_that_another_replica_has_made_is_not_overwritten() -> None:
    memory = Memory(query("a"))
    late, leader = cluster(memory), cluster(memory)
    late.observe()
    leader.observe()
    leader.write_placement(WritePlacement("a/q", {"revision": 1, "fragments": []}, {}))
    with pytest.raises(ApiError, match="was not observed"):
        late.write_placement(WritePlacement("a/q", {"revision": 7, "fragments": []}, {}))


def test_a_placement_of_the_same_name_that_is_another_is_not_deleted() -> None:
    memory = Memory()
    late = placed(memory)
    old = memory.objects.pop(("Placement", "a", "q"))
    memory.put({**old, "metadata": {**old["metadata"], "uid": "another"}})
    late.write_placement(DeletePlacement("a/q"))
    assert ("Placement", "a", "q") in memory.objects


def test_a_hand_over_is_never_taken_back() -> None:
    memory = Memory()
    adapter = placed(memory)
    adapter.apply(HandOver("f1", 3))
    adapter.apply(HandOver("f1", 2))
    notes = memory.objects["Lease", "a", "f1"]["metadata"]["annotations"]
    assert notes[names.HANDOVER] == "3"


def test_a_budget_keeps_executors_too_and_they_are_nobody_elses_requests() -> None:
    memory = Memory()
    adapter = placed(memory)
    adapter.apply(Start(replace(spec(), epoch=2, executors=2), "b2", "a/q"))
    adapter.apply(Protect("f1", "a/q", True, executors=2))
    assert memory.objects["PodDisruptionBudget", "a", "f1"]["spec"]["minAvailable"] == 3
    executor = labelled(
        "Pod",
        "f1-e2-exec-1",
        {names.ROLE: "executor", names.FRAGMENT: "f1", names.EPOCH: "2"},
        spec={"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
    )
    driver = memory.objects["Pod", "a", "f1-e2"]["metadata"]
    executor["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": driver["uid"]}]
    memory.put(executor)
    observed = cluster(memory).observe()
    assert {(p.fragment, p.epoch) for p in observed.processes} == {("f1", 1), ("f1", 2)}
    assert observed.foreign == {}


def test_the_time_of_a_drain_is_told_with_a_budget_and_without_it_alike() -> None:
    """Without it a budget whose time is over would be made again, and again."""
    memory, now = Memory(), [1000.0]
    adapter = KubernetesCluster(placed(memory)._api, OperatorSettings(), lambda: now[0])
    pod = memory.objects["Pod", "a", "f1-e1"]
    pod["spec"]["nodeName"] = "n1"
    pod["spec"]["tolerations"] = [{"key": "pool", "operator": "Exists"}]
    taints = [{"key": "pool", "effect": "NoSchedule"}]
    memory.put({"kind": "Node", "metadata": {"name": "n1"}, "spec": {"taints": taints}})
    assert adapter.observe().budget_since == {}, "a pool of its own is not drained"
    now[0] = 2000.0
    taints.append({"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"})
    assert adapter.observe().budget_since == {"f1": 2000.0}
    for protected in (True, False):
        adapter.apply(Protect("f1", "a/q", protected))
        now[0] += 700.0
        assert adapter.observe().budget_since == {"f1": 2000.0}
    taints.pop()
    assert adapter.observe().budget_since == {}


def test_a_forgetting_that_is_killed_half_way_comes_up_again() -> None:
    memory = Memory()
    adapter = placed(memory)

    def killed(verb: str, kind: str, *_: str) -> None:
        if (verb, kind) == ("delete", "ServiceAccount"):
            raise KeyboardInterrupt

    memory.refuse = killed
    with pytest.raises(KeyboardInterrupt):
        adapter.apply(CleanUp("f1", "a/q"))
    memory.refuse = lambda *_: None
    assert memory.names("Lease") == {"f1"}, "by the lease the next controller knows what is left"
    successor = cluster(memory)
    successor.observe()
    successor.apply(CleanUp("f1", ""))
    assert {kind for kind, _, _ in memory.objects} == {"StreamQuery", "Placement", "Pod"}


def test_the_question_for_a_cut_never_overwrites_an_answer() -> None:
    memory = Memory()
    adapter = placed(memory)
    adapter.apply(RequestCut("f1", 20.0))
    change = memory.objects["Lease", "a", "f1"]["metadata"]["annotations"][names.CHANGE]
    adapter.apply(RequestCut("f1", 99.0))
    assert memory.objects["Lease", "a", "f1"]["metadata"]["annotations"][names.CHANGE] == change
    del memory.objects["Lease", "a", "f1"]["metadata"]["annotations"][names.CHANGE]
    stale = memory.objects["Lease", "a", "f1"]
    memory.put(stale)  # the driver renews it between the reading and the writing
    memory.get = lambda *_: stale  # type: ignore[method-assign]
    with pytest.raises(ApiError, match="modified"):
        adapter.apply(RequestCut("f1", 99.0))


@pytest.mark.parametrize("handed_over", [False, True])
def test_where_nobody_has_had_a_lease_its_plan_ends_where_it_began(handed_over: bool) -> None:
    memory = Memory()
    adapter = placed(memory)
    if handed_over:
        adapter.apply(HandOver("f1", 2))
    adapter.apply(RequestCut("f1", 20.0, "a/q", began=7))
    lease = adapter.observe().leases["f1"]
    assert (lease.change, lease.released) == (Change(20.0, 7, passed=True), True)
    record = record_of(memory.objects["Lease", "a", "f1"])
    epoch = 2 if handed_over else 1
    assert may_take(record, epoch, "n:1:1", expired=False)
    assert record is not None
    assert record.change == lease.change


def test_a_driver_that_does_not_deliver_is_told_the_cut() -> None:
    memory = Memory()
    adapter = placed(memory)
    memory.put(manifest_of(memory.objects["Lease", "a", "f1"], LeaseRecord(1, "n:1:1", 1.0, 10.0)))
    adapter.apply(RequestCut("f1", 20.0, "a/q", time=7))
    assert adapter.observe().leases["f1"].change == Change(20.0, 7)


def test_a_driver_that_was_quicker_answers_for_its_plan() -> None:
    memory = Memory()
    adapter = placed(memory)
    memory.put(manifest_of(memory.objects["Lease", "a", "f1"], LeaseRecord(1, "n:1:1", 1.0, 10.0)))
    adapter.apply(RequestCut("f1", 20.0, "a/q", began=7))
    assert adapter.observe().leases["f1"].change == Change(20.0)


def ending(*_: str) -> None:
    text = "unable to create new content in namespace a because it is being terminated"
    raise ObjectGone(403, f"pods is forbidden: {text}")


def test_in_a_namespace_that_is_going_nothing_is_refused_or_told() -> None:
    memory = Memory()
    adapter = placed(memory)
    memory.refuse = ending
    for write in (
        lambda: adapter.write_placement(WritePlacement("a/q", {"fragments": []}, {})),
        lambda: adapter.apply(start()),
        lambda: adapter.apply(HandOver("f1", 2)),
        lambda: adapter.emit(Event("a/q", "Planned", "x")),
    ):
        with pytest.raises(Gone) as raised:
            write()
        assert not isinstance(raised.value, Refused)


def test_a_quota_is_a_refusal() -> None:
    memory = Memory()
    adapter = placed(memory)
    memory.objects.pop(("Pod", "a", "f1-e1"))

    def full(verb: str, kind: str, *_: str) -> None:
        if (verb, kind) == ("create", "Pod"):
            raise ApiError(403, "exceeded quota")

    memory.refuse = full
    with pytest.raises(Refused, match="exceeded quota"):
        adapter.apply(start())


def test_what_is_gone_meanwhile_is_gone() -> None:
    adapter = cluster(Memory())
    adapter.observe()
    for write in (
        lambda: adapter.write_placement(WritePlacement("a/q", {"fragments": []}, {})),
        lambda: adapter.write_status(WriteStatus("StreamQuery", "a", "q", {})),
        lambda: adapter.apply(HandOver("f1", 2)),
        lambda: adapter.apply(Protect("f1", "", False)),
    ):
        with pytest.raises(Gone):
            write()


def test_a_namespace_where_nothing_can_be_swept_stops_no_round() -> None:
    claims = [
        {"kind": "PersistentVolumeClaim", "metadata": {"namespace": ns, "name": "weir-exchange"}}
        for ns in "ab"
    ]
    memory = Memory(*claims)

    def broken(verb: str, kind: str, namespace: str, *_: str) -> None:
        if (verb, namespace) == ("create", "a"):
            raise ApiError(500, "failed calling webhook")

    memory.refuse = broken
    adapter = cluster(memory)
    adapter.observe()
    assert {ns for kind, ns, _ in memory.objects if kind == "Pod"} == {"b"}
    memory.put(query("a"))
    adapter.observe()
    adapter.write_placement(WritePlacement("a/q", {"fragments": []}, {}))
    with pytest.raises(ApiError, match="webhook"):
        adapter.apply(start())  # refused by the webhook, and not by us, as if a sweep were under way
    memory.refuse = lambda *_: None
    adapter.observe()
    assert {ns for kind, ns, _ in memory.objects if kind == "Pod"} == {"a", "b"}, "it comes up again"


def test_without_an_answer_nothing_is_seen() -> None:
    memory = Memory()

    def silent(*_: str) -> None:
        raise NoAnswer("no answer")

    memory.refuse = silent
    with pytest.raises(NoAnswer):
        cluster(memory).observe()
