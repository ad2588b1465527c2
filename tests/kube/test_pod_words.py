"""Why a driver does not come up, in the words of the kubelet, the scheduler and the API server.

The statuses are as Kubernetes 1.34 writes them, shortened in what nobody reads here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from weir_operator.controller.observed_state import Lease
from weir_operator.kube import names
from weir_operator.kube.api import ApiError
from weir_operator.kube.pod_warnings import PodWarnings
from weir_operator.kube.process import read_process
from weir_operator.kube.unreadable import UnreadableObjects

from tests.kube.memory import Manifest, Memory

AT = "2026-01-01T00:00:00Z"
NOW = 1767225600.0
LEASE = Lease("f", 3, "f-e3:7:1", NOW, 10.0)
NOT_READY = [
    {"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": AT},
    {"type": "Initialized", "status": "True", "lastTransitionTime": AT},
    {
        "type": "Ready", "status": "False", "lastTransitionTime": AT, "reason": "ContainersNotReady",
        "message": "containers with unready status: [driver]",
    },
    {"type": "PodScheduled", "status": "True", "lastTransitionTime": AT},
]  # fmt: skip


def pod(status: Mapping[str, Any], node: str = "n1") -> Manifest:
    meta = {
        "name": "f-e3",
        "namespace": "a",
        "uid": "u1",
        "labels": {names.FRAGMENT: "f", names.EPOCH: "3", names.ROLE: "driver"},
        "annotations": {names.NODE: "n1", names.FRAGMENT: "f"},
        "creationTimestamp": AT,
    }
    return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": node} if node else {}, "status": status}


def container(state: Mapping[str, Any], last: Mapping[str, Any] | None = None, **more: Any) -> Manifest:
    described = {"name": "driver", "image": "i", "imageID": "", "ready": False, "started": False}
    return {**described, "restartCount": 0, "state": state, "lastState": last or {}, **more}


def with_containers(*containers: Manifest, phase: str = "Pending") -> Manifest:
    return pod({"phase": phase, "conditions": NOT_READY, "containerStatuses": list(containers)})


def waiting(reason: str, message: str = "") -> Manifest:
    return {"waiting": {"reason": reason, **({"message": message} if message else {})}}


def ended(code: int, reason: str, message: str = "") -> Manifest:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "message": message,
            "startedAt": AT,
            "finishedAt": AT,
        }
    }


BACK_OFF = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=driver pod=f-e3_a(u1-2-3)")
NOT_FOUND = (
    'Back-off pulling image "example.org/weir-runtime:gone": ErrImagePull: rpc error: code = NotFound '
    'desc = failed to pull and unpack image "example.org/weir-runtime:gone": not found'
)
TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: column k is missing\n'

CAUSES = {
    "image": (
        with_containers(container(waiting("ImagePullBackOff", NOT_FOUND))),
        f"ImagePullBackOff: {NOT_FOUND}",
    ),
    "image name": (
        with_containers(
            container(waiting("InvalidImageName", 'parsing "a b": invalid reference format'))
        ),
        'InvalidImageName: parsing "a b": invalid reference format',
    ),
    "image that is gone at a restart": (
        with_containers(
            container(waiting("ErrImageNeverPull", "Image is not present"), ended(1, "Error", "old"))
        ),
        "ErrImageNeverPull: Image is not present",
    ),
    "secret of a variable": (
        with_containers(container(waiting("CreateContainerConfigError", 'secret "keys" not found'))),
        'CreateContainerConfigError: secret "keys" not found',
    ),
    "crash loop": (
        with_containers(container(BACK_OFF, ended(1, "Error", TRACE), restartCount=6), phase="Running"),
        "exit code 1: ValueError: column k is missing",
    ),
    "out of memory, with a log that ends in something else": (
        with_containers(
            container(BACK_OFF, ended(137, "OOMKilled", "WARN one\nbatch 7 committed\n")), phase="Running"
        ),
        "OOMKilled, exit code 137",
    ),
    "out of memory, without a log": (
        with_containers(container(ended(137, "OOMKilled")), phase="Running"),
        "OOMKilled, exit code 137",
    ),
    "a command that is not there": (
        with_containers(
            container(
                BACK_OFF,
                ended(128, "StartError", 'exec: "python3": executable file not found in $PATH: unknown'),
            ),
            phase="Running",
        ),
        'StartError, exit code 128: exec: "python3": executable file not found in $PATH: unknown',
    ),
    "a sidecar before it": (
        with_containers(
            container({"running": {"startedAt": AT}}, name="a-proxy", ready=True),
            container(waiting("ImagePullBackOff", NOT_FOUND)),
        ),
        f"ImagePullBackOff: {NOT_FOUND}",
    ),
    "a claim that is not there": (
        pod(
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                        "lastTransitionTime": AT,
                        "message": '0/3 nodes are available: claim "weir-exchange" not found.',
                    }
                ],
            },
            node="",
        ),
        '0/3 nodes are available: claim "weir-exchange" not found.',
    ),
    "evicted": (
        pod(
            {
                "phase": "Failed", "reason": "Evicted", "startTime": AT,
                "message": "The node was low on resource: ephemeral-storage.",
            }
        ),
        "The node was low on resource: ephemeral-storage.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_the_words_of_the_pod_say_why_it_does_not_work(cause: str) -> None:
    manifest, words = CAUSES[cause]
    process = read_process(manifest, LEASE, None)
    assert process.state in ("starting", "pending", "failed")
    assert process.message == words


def mount_failure(uid: str = "u1", note: str = 'secret "kafka-login" not found', at: str = AT) -> Manifest:
    """As the kubelet writes it for a volume of a Secret that is not there: the Pod's status says nothing."""
    return {
        "kind": "Event",
        "metadata": {"namespace": "a", "name": f"f-e3.{at}.{uid}", "creationTimestamp": at},
        "type": "Warning",
        "reason": "FailedMount",
        "note": f'MountVolume.SetUp failed for volume "secret-0" : {note}',
        "regarding": {"kind": "Pod", "namespace": "a", "name": "f-e3", "uid": uid},
        "deprecatedLastTimestamp": at,
    }


CREATING = with_containers(container(waiting("ContainerCreating")))
WORDS = 'FailedMount: MountVolume.SetUp failed for volume "secret-0" : secret "kafka-login" not found'


def test_a_secret_that_cannot_be_mounted_is_said_by_the_pods_events() -> None:
    memory = Memory(
        mount_failure(note="timed out", at="2025-12-31T23:59:00Z"),
        mount_failure(),
        mount_failure("u2", "of another"),
    )
    warnings = PodWarnings(memory.api, lambda: NOW + 20, UnreadableObjects())
    words = warnings.of([CREATING])
    assert words == {"u1": WORDS}
    assert read_process(CREATING, None, None, warning=words["u1"]).message == WORDS


def test_events_are_read_of_few_pods_and_seldom() -> None:
    memory, now, reads = Memory(mount_failure()), [NOW + 5], []
    memory.refuse = lambda verb, kind, *_: reads.append((verb, kind))
    warnings = PodWarnings(memory.api, lambda: now[0], UnreadableObjects())
    assert warnings.of([CREATING]) == {}, "it has only begun"
    assert warnings.of([CAUSES["image"][0], CAUSES["crash loop"][0]]) == {}, "their statuses say why"
    assert reads == []
    now[0] += 20
    for _ in range(5):
        assert warnings.of([CREATING]) == {"u1": WORDS}
    assert len(reads) == 1
    now[0] += 31
    warnings.of([CREATING])
    assert len(reads) == 2
    assert warnings.of([]) == {}


def test_an_operator_that_may_not_read_events_goes_on() -> None:
    def refuse(verb: str, kind: str, *_: str) -> None:
        raise ApiError(403, "events is forbidden")

    memory = Memory()
    memory.refuse = refuse
    assert PodWarnings(memory.api, lambda: NOW + 20, UnreadableObjects()).of([CREATING]) == {}
