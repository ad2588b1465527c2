"""What keeps a driver from working is said by its query, in the words of the pod or of who refuses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.e2e import flights
from tests.e2e.conftest import claim_of
from tests.e2e.kubectl import Manifest, apply, condition, get, kubectl, wait_until
from tests.e2e.test_bad_manifests import GRAPH, STREAM, changed

DEADLINE = "40s"
GONE = "weir-runtime:no-such-tag"
IN_A_MOMENT = 180.0  # [s] for the first start of a Spark driver on a busy machine


def policy(name: str, **pod_template: Any) -> Manifest:
    spec = {"progressDeadline": DEADLINE, "podTemplate": pod_template, "drift": {"minGain": 0}}
    return {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "PlacementPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def query(namespace: str, name: str, policy: str = "default", **more: Any) -> Manifest:
    spec = {**GRAPH["spec"], "policy": policy, **more}
    return {**GRAPH, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


@pytest.fixture
def policies(namespace: str) -> Iterator[dict[str, str]]:
    """Names of policies by what is wrong with their pods; gone at the end, with the queries."""
    nothing = {"name": "nothing", "emptyDir": {}}
    over_the_program = {"name": "nothing", "mountPath": "/opt/weir/weir_runtime"}
    templates: Mapping[str, dict[str, Any]] = {
        "good": {},
        "image": {"image": GONE, "imagePullPolicy": "IfNotPresent"},
        "crash": {"volumes": [nothing], "volumeMounts": [over_the_program]},
        "standard": {"containerSecurityContext": {"allowPrivilegeEscalation": True}},
    }
    names = {what: f"{namespace}-{what}" for what in templates}
    apply([policy(names[what], **template) for what, template in templates.items()])
    stream = {**STREAM, "metadata": {"name": "a", "namespace": namespace}}
    apply([claim_of(namespace), stream])
    yield names
    kubectl("delete", "wsq", "--all", "-n", namespace)
    kubectl("delete", "placementpolicies", *names.values())


def said(namespace: str, name: str, kind: str) -> str:
    """The message of a condition that holds; empty while it does not."""
    (query,) = get("streamquery", name, "-n", namespace)
    described = condition(query, kind)
    return str(described["message"]) if described.get("status") == "True" else ""


def test_every_cause_is_said_after_the_deadline(namespace: str, policies: dict[str, str]) -> None:
    variable = [{"name": "TOKEN", "secretRef": {"name": "no-such-secret", "key": "token"}}]
    apply(
        [
            query(namespace, "image", policies["image"]),
            query(namespace, "crash", policies["crash"]),
            query(namespace, "standard", policies["standard"]),
            query(namespace, "secret", policies["good"], env=variable),
        ]
    )
    words = {
        "image": f'pulling image "{GONE}"',
        "crash": "exit code 1",
        "standard": 'violates PodSecurity "restricted',
        "secret": 'secret "no-such-secret" not found',
    }
    for name, text in words.items():
        wait_until(
            IN_A_MOMENT,
            f"{name}: Stalled, with {text!r}; says {said(namespace, name, 'Reconciling')!r}",
            lambda name=name, text=text: text in said(namespace, name, "Stalled"),
        )
        assert not said(namespace, name, "Ready")
    warned = {query for query, _ in flights.events(namespace, "ProgressDeadlineExceeded")}
    assert warned == set(words)
    kubectl("create", "secret", "generic", "no-such-secret", "-n", namespace, "--from-literal=token=x")
    flights.wait_ready(namespace, IN_A_MOMENT, ("secret",))
    assert not said(namespace, "secret", "Stalled")


def test_a_quota_on_what_the_planner_does_not_count_is_said(namespace: str, policies: dict[str, str]) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "leases", "namespace": namespace},
        "spec": {"hard": {"count/leases.coordination.k8s.io": "0"}},
    }
    apply([quota])
    wait_until(
        60, "the quota", lambda: "used" in get("resourcequota", "leases", "-n", namespace)[0]["status"]
    )
    apply([query(namespace, "q", policies["good"])])
    wait_until(
        IN_A_MOMENT,
        "Stalled by the quota",
        lambda: "exceeded quota: leases" in said(namespace, "q", "Stalled"),
    )
    assert flights.events(namespace, "StartRefused")
    kubectl("delete", "resourcequota", "leases", "-n", namespace)
    flights.wait_ready(namespace, IN_A_MOMENT, ("q",))


def test_ready_ends_with_the_last_driver_whatever_is_to_come(
    namespace: str, policies: dict[str, str]
) -> None:
    apply([query(namespace, "q", policies["good"])])
    flights.wait_ready(namespace, IN_A_MOMENT, ("q",))
    (driver,) = flights.drivers(namespace)
    name = driver["metadata"]["name"]
    hog = "x = bytearray(4 << 30)"  # beyond the limit, which the node's kernel enforces
    kubectl("exec", "-n", namespace, name, "--", "bash", "-c", f"python3 -c '{hog}'; kill -KILL -1 || true")
    wait_until(
        90, "it says that memory ran out", lambda: "OOMKilled" in said(namespace, "q", "Reconciling"), 0.5
    )
    flights.wait_ready(namespace, IN_A_MOMENT, ("q",))

    apply([policy(policies["good"], image=GONE, imagePullPolicy="IfNotPresent")])
    wait_until(60, "a successor", lambda: len(flights.drivers(namespace)) == 2)
    assert said(namespace, "q", "Ready"), "the driver of before works on"
    kubectl("delete", "pod", name, "-n", namespace)
    wait_until(60, "not Ready", lambda: not said(namespace, "q", "Ready"), 1)
    wait_until(IN_A_MOMENT, "Stalled", lambda: GONE in said(namespace, "q", "Stalled"))
    apply([changed(policy(policies["good"]), "podTemplate", None)])
    flights.wait_ready(namespace, IN_A_MOMENT, ("q",))
