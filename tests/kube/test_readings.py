"""Pods, leases and nodes of the API, read as what the controller's loop sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.observed_state import Lease, Requests
from weir_operator.kube import names
from weir_operator.kube.lease import SilentHolders, read_lease
from weir_operator.kube.nodes import drained_since, lost_since
from weir_operator.kube.process import read_process
from weir_operator.kube.quantities import requests_of, requests_on_node, sum_by_node
from weir_operator.manifests.cluster import UNREACHABLE
from weir_placement.model.change import Change

AT = "2026-01-01T00:00:00Z"
SECONDS = 1767225600.0


def pod(container: dict[str, Any] | None = None, node: str = "n1", **meta: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": "Running", "conditions": [{"type": "Ready", "lastTransitionTime": AT}]}
    if container:
        status["containerStatuses"] = [container]
    actual = {
        "labels": {names.FRAGMENT: "f", names.EPOCH: "3"},
        "annotations": {names.NODE: "n1", names.BUILD: "b", names.FRAGMENT: "f"},
        "creationTimestamp": AT,
    }
    return {"metadata": actual | meta, "spec": {"nodeName": node} if node else {}, "status": status}


def ended(code: int) -> dict[str, Any]:
    return {
        "restartCount": 2,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": code, "finishedAt": AT, "message": "why\n"}},
    }


READY = {"ready": True, "state": {"running": {"startedAt": AT}}}
UP = {"ready": False, "state": {"running": {"startedAt": AT}}}
HOLDS = Lease("f", 3, "f-e3:7:1", SECONDS, 10.0)
OTHERS = Lease("f", 2, "f-e2:7:1", SECONDS, 10.0)


@pytest.mark.parametrize(
    ("container", "lease", "state"),
    [
        (READY, HOLDS, "running"),
        (READY, OTHERS, "standby"),
        (READY, None, "standby"),
        (READY, Lease("f", 3, "f-e3:7:1", SECONDS, 10.0, released=True), "standby"),
        (UP, HOLDS, "starting"),
        (None, None, "starting"),
        (ended(1), HOLDS, "starting"),  # the kubelet restarts it
        (ended(143), HOLDS, "starting"),  # likewise
        (ended(2), HOLDS, "failed"),  # would be refused again
        (ended(75), OTHERS, "stopped"),
        (ended(0), Lease("f", 3, "", SECONDS, 10.0, handover=4, released=True), "stopped"),
        (ended(0), Lease("f", 3, "", SECONDS, 10.0, released=True), "finished"),  # nobody told it to end
    ],
)
def test_state_of_a_driver(container: dict[str, Any] | None, lease: Lease | None, state: str) -> None:
    assert read_process(pod(container), lease, None).state == state


@pytest.mark.parametrize(
    ("container", "refused"),
    [
        (ended(2), True),
        ({**UP, "lastState": ended(2)["lastState"]}, True),  # it is tried again, and has not come up
        ({**READY, "lastState": ended(2)["lastState"]}, False),
        (ended(1), False),
        (UP, False),
    ],
)
def test_a_driver_that_cannot_run_as_it_is_told_is_refused_until_it_works(
    container: dict[str, Any], refused: bool
) -> None:
    assert read_process(pod(container), HOLDS, None).refused is refused


def test_a_pod_without_a_node_is_pending_and_says_why() -> None:
    waiting = pod(node="")
    waiting["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "message": "no room"}]}
    process = read_process(waiting, None, None)
    assert (process.state, process.message, process.since) == ("pending", "no room", SECONDS)
    assert not process.no_room  # a claim that is not there is not the node's fault
    for why in (
        "Insufficient memory",
        "node(s) had untolerated taint {pool: a}",
        "node(s) were unschedulable",
    ):
        waiting["status"]["conditions"][0]["message"] = f"0/3 nodes are available: 1 {why}, ..."
        assert read_process(waiting, None, None).no_room, why


def test_a_pod_on_a_lost_node_is_lost_whatever_it_said_last() -> None:
    process = read_process(pod(READY), HOLDS, SECONDS + 5)
    assert (process.state, process.since) == ("lost", SECONDS + 5)
    assert "n1" in process.message


def test_a_driver_that_does_not_renew_its_lease_cannot_work_where_it_is() -> None:
    process = read_process(pod(READY), HOLDS, None, silent_since=SECONDS + 5)
    assert (process.state, process.since, process.no_room) == ("starting", SECONDS + 5, True)
    assert "lease" in process.message
    assert read_process(pod(READY), OTHERS, None, silent_since=SECONDS + 5).state == "standby"
    assert not read_process(pod(UP), HOLDS, None, silent_since=SECONDS + 5).no_room, "it only starts yet"


def test_silence_is_judged_on_the_own_clock_whatever_the_holders_clock_says() -> None:
    silence, ahead = SilentHolders(), SECONDS + 1000
    assert silence.since({"f": HOLDS}, ahead, ahead) == {}, "just seen"
    assert silence.since({"f": replace(HOLDS, handover=4)}, ahead + 11, ahead + 11) == {"f": ahead + 10}
    assert silence.since({"f": replace(HOLDS, renewed=SECONDS + 1)}, ahead + 12, ahead + 12) == {}
    assert silence.since({}, ahead + 13, ahead + 13) == {}


def test_what_the_plan_wanted_and_what_came_are_both_told() -> None:
    process = read_process(pod(READY, node="n9", deletionTimestamp=AT), HOLDS, None)
    assert (process.node, process.planned_node, process.build) == ("n9", "n1", "b")
    assert process.terminating


def test_the_last_error_is_the_message() -> None:
    process = read_process(pod(ended(1)), HOLDS, None)
    assert process.message == "exit code 1: why"
    assert process.restarts == 2


def lease(notes: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "f", "annotations": notes}, "spec": spec}


def test_a_lease_is_read_with_its_hand_over_and_release() -> None:
    lease_spec = {"holderIdentity": "h", "leaseTransitions": 3, "renewTime": AT, "leaseDurationSeconds": 10}
    assert read_lease(lease({}, **lease_spec)) == Lease("f", 3, "h", SECONDS, 10.0)
    actual = read_lease(lease({names.HANDOVER: "4", names.RELEASED: "true"}, **lease_spec))
    assert actual == Lease("f", 3, "h", SECONDS, 10.0, handover=4, released=True)
    agreed = lease({names.CHANGE: '{"lead": 20.0, "time": 7, "passed": true}'}, **lease_spec)
    assert read_lease(agreed).change == Change(20.0, 7, passed=True)  # type: ignore[union-attr]


def test_a_lease_that_nobody_took_is_none_or_free_for_who_was_told() -> None:
    assert read_lease(lease({})) is None
    actual = read_lease(lease({names.HANDOVER: "4"}))
    assert actual is not None
    assert (actual.epoch, actual.released) == (4, True)


def node(ready: str, taints: list[dict[str, str]] | None = None, **spec: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": AT}
    return {
        "metadata": {"name": "n", "creationTimestamp": AT},
        "spec": {"taints": taints or [], **spec},
        "status": {"conditions": [condition]},
    }


def test_a_node_that_is_not_ready_or_unknown_is_lost() -> None:
    assert lost_since(node("True")) is None
    assert lost_since(node("Unknown")) == lost_since(node("False")) == SECONDS


def test_since_when_a_node_wants_to_be_without_a_pod() -> None:
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": AT}
    mine = {"key": "mine", "effect": "NoSchedule"}
    assert drained_since(node("True"), [], 7.0) is None
    assert drained_since(node("True", [cordon], unschedulable=True), [], 7.0) == SECONDS
    assert drained_since(node("True", [mine]), [], 7.0) == 7.0
    assert drained_since(node("True", [{"key": "mine", "effect": "PreferNoSchedule"}]), [], 7.0) is None
    assert drained_since(node("True", [{**mine, "key": UNREACHABLE[0]}]), [], 7.0) is None


def test_a_taint_that_a_pod_tolerates_drains_it_not_and_lets_no_cordon_seem_old() -> None:
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    own = {"key": "pool", "value": "weir", "effect": "NoSchedule", "timeAdded": AT}
    for tolerated in (
        [{"operator": "Exists"}],
        [{"key": "pool", "value": "weir"}],
        [{"key": "pool", "operator": "Exists", "effect": "NoSchedule"}],
    ):
        assert drained_since(node("True", [own]), tolerated, 7.0) is None
        assert drained_since(node("True", [own, cordon], unschedulable=True), tolerated, 7.0) == 7.0
    assert drained_since(node("True", [own]), [{"key": "pool", "value": "others"}], 7.0) == SECONDS


def container(cpu: str, memory: str = "0", **more: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


def test_requests_are_counted_as_the_scheduler_counts_them() -> None:
    spec: dict[str, Any] = {"containers": [container("500m", "1Gi"), container("1")]}
    assert requests_of({"spec": spec}) == Requests(1.5, 2.0**30)
    spec["initContainers"] = [container("2"), container("250m", restartPolicy="Always")]
    assert requests_of({"spec": spec}).cpu == 2.0
    spec["initContainers"].append(container("2"))
    assert requests_of({"spec": spec}).cpu == 2.25  # the sidecar runs beside the last init container
    spec["overhead"] = {"cpu": "100m"}
    assert requests_of({"spec": spec}).cpu == 2.35
    spec["resources"] = {"requests": {"cpu": "3"}}
    assert requests_of({"spec": spec}).cpu == 3.1


def test_pods_that_ended_or_are_nowhere_take_nothing() -> None:
    spec = {"containers": [container("1")], "nodeName": "n"}
    pods = [
        {"metadata": {"uid": "a"}, "spec": spec, "status": {"phase": "Running"}},
        {"metadata": {"uid": "b"}, "spec": spec, "status": {"phase": "Succeeded"}},
        {"metadata": {"uid": "c"}, "spec": {"containers": [container("1")]}, "status": {}},
    ]
    assert sum_by_node(filter(None, map(requests_on_node, pods)), ()) == {"n": Requests(1.0, 0.0)}
