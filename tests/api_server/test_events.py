"""Events are accepted whatever their message says, and found by what they are about."""

from __future__ import annotations

import itertools
import time

import pytest
from weir_operator.controller.decision import Event
from weir_operator.kube.api import ApiError
from weir_operator.kube.events import build_event_spec
from weir_operator.kube.pod_warnings import PodWarnings
from weir_operator.kube.unreadable import UnreadableObjects

from tests.api_server.api_under_test import ApiUnderTest, manifest

LONG = [
    "x" * 5000,
    "ü" * 1024,
    "😀 " * 600,
    "one two " * 300,
    "漢" * 341 + "x",
    "漢" * 341 + "xx",
    "漢" * 342,
    "",
]


@pytest.mark.parametrize("message", LONG, ids=range(len(LONG)))
def test_any_message_is_accepted(target: ApiUnderTest, message: str) -> None:
    event = Event(f"{target.namespace}/q", "Planned", message, warning=True)
    query = {"metadata": {"uid": "u"}}
    assert target.api.create(build_event_spec(event, query, "weir-operator-abc", time.time()))
    ((stored),) = target.api.list("Event", target.namespace, fields="regarding.uid=u,type=Warning")
    assert (stored["reason"], stored["regarding"]["name"]) == ("Planned", "q")
    assert len(stored.get("note", "").encode()) <= 1024


def test_a_note_of_more_bytes_or_no_reporter_is_refused(target: ApiUnderTest) -> None:
    good = build_event_spec(Event(f"{target.namespace}/q", "Planned", "x"), None, "me", time.time())
    for wrong in ({"note": "é" * 600}, {"reportingInstance": ""}, {"reason": ""}, {"action": "x" * 129}):
        with pytest.raises(ApiError) as refused:
            target.api.create({**good, **wrong})
        assert refused.value.status == 422
    assert target.api.create(good)
    assert list(target.api.list("Event", target.namespace, fields="regarding.uid=other")) == []


def test_the_warning_of_a_pod_that_waits_for_its_volume_is_read(target: ApiUnderTest) -> None:
    containers = [{"name": "driver", "image": "i"}]
    pod = manifest("Pod", target.namespace, "f-e1", spec={"containers": containers})
    assert target.api.create(pod)
    target.bind("f-e1", "n1")
    waiting = {"name": "driver", "state": {"waiting": {"reason": "ContainerCreating"}}}
    container = {**waiting, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}
    status = {"status": {"phase": "Pending", "containerStatuses": [container]}}
    target.admin.merge("Pod", target.namespace, "f-e1", status, "status")
    stored = target.admin.get("Pod", target.namespace, "f-e1") or {}
    uid = stored["metadata"]["uid"]
    event = build_event_spec(
        Event(f"{target.namespace}/f-e1", "FailedMount", 'secret "k" not found', warning=True),
        None, "kubelet", time.time(),
    )  # fmt: skip
    event["regarding"] = {"kind": "Pod", "namespace": target.namespace, "name": "f-e1", "uid": uid}
    assert target.admin.create(event)
    ticks = itertools.count(time.time() + 600.0, 60.0)
    warnings = PodWarnings(target.api, lambda: next(ticks), UnreadableObjects())
    assert 'secret "k" not found' in warnings.of([stored])[uid]
