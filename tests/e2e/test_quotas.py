"""Quotas: the API server takes as many pods as the planner says, and the operator says why not more."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from weir_operator.kube.driver_pod import Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.executor_pod import build_executor_template
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.quota import counted
from weir_operator.manifests.objects import from_raw
from weir_operator.manifests.problem import build
from weir_operator.manifests.requests import share
from weir_placement.fragments import Knobs

from tests.e2e import flights
from tests.e2e.conftest import claim_of
from tests.e2e.kubectl import ENVIRONMENT, Manifest, apply, condition, get, kubectl, wait_until
from tests.e2e.test_bad_manifests import STREAM

NODE: Manifest = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "nowhere", "labels": {"topology.kubernetes.io/zone": "newyork"}},
    "status": {"allocatable": {"cpu": "8"}},
}
SQL = "SELECT a.x FROM a WHERE a.x > 1"
MANY = 4


@dataclass(frozen=True)
class QuotaCase:
    """A namespace and what a fragment in it asks for; `fragments` are what the planner lets it have."""

    fragments: int | None  # None: no pod at all
    hard: Mapping[str, str] = field(default_factory=dict)
    items: tuple[Mapping[str, Any], ...] = ()  # of a LimitRange
    resources: Mapping[str, Any] = field(default_factory=dict)
    scopes: tuple[str, ...] = ()


def container(**bounds: Any) -> dict[str, Any]:
    return {"type": "Container", **bounds}


CASES = {
    "pods": QuotaCase(2, {"pods": "2"}),
    "objects": QuotaCase(3, {"count/pods": "3"}),
    "cpu": QuotaCase(2, {"requests.cpu": "250m"}),
    "cpu by its short name": QuotaCase(1, {"cpu": "1"}, resources={"cpu": "600m"}),
    "memory": QuotaCase(2, {"requests.memory": "2500Mi"}),
    "the limit of memory": QuotaCase(1, {"limits.memory": "3Gi"}, resources={"memory": "2Gi"}),
    "executors": QuotaCase(1, {"pods": "5", "requests.cpu": "1"}, resources={"cpu": "900m", "executors": 2}),
    "a default limit of cpu": QuotaCase(
        2, {"limits.cpu": "1"}, (container(default={"cpu": "400m"}, defaultRequest={"cpu": "1m"}),)
    ),
    "a maximum that is a default": QuotaCase(3, {"limits.cpu": "900m"}, (container(max={"cpu": "300m"}),)),
    "a default of another resource": QuotaCase(
        2, {"requests.ephemeral-storage": "5Gi"}, (container(default={"ephemeral-storage": "2Gi"}),)
    ),
    "a quota on cpu limits that nobody gives": QuotaCase(None, {"limits.cpu": "9"}),
    "a quota that is not about them": QuotaCase(MANY, {"pods": "0"}, scopes=("BestEffort",)),
    "a quota on pods that run on": QuotaCase(1, {"pods": "1"}, scopes=("NotTerminating", "NotBestEffort")),
    "an object of another kind": QuotaCase(MANY, {"configmaps": "1", "services": "0"}),
    "too little cpu": QuotaCase(None, items=(container(min={"cpu": "200m"}),)),
    "too much memory": QuotaCase(None, items=(container(max={"memory": "1Gi"}),)),
    "more than the default limit": QuotaCase(None, items=(container(default={"cpu": "50m"}),)),
    "a pod without a limit of cpu": QuotaCase(None, items=({"type": "Pod", "max": {"cpu": "2"}},)),
    "a pod with a default limit": QuotaCase(
        MANY, items=({"type": "Pod", "max": {"cpu": "2"}}, container(default={"cpu": "1"}))
    ),
    "a pod that asks for too little": QuotaCase(None, items=({"type": "Pod", "min": {"memory": "2Gi"}},)),
    "a ratio that is kept": QuotaCase(MANY, items=(container(maxLimitRequestRatio={"memory": "1"}),)),
    "a ratio that is not": QuotaCase(
        None, items=(container(default={"cpu": "1"}, maxLimitRequestRatio={"cpu": "5"}),)
    ),
}


@pytest.fixture(params=CASES)
def case(cluster: None, request: pytest.FixtureRequest) -> Iterator[tuple[str, QuotaCase]]:
    """A namespace with a quota in force and a limit range."""
    name, case = f"t-{uuid.uuid4().hex[:8]}", CASES[request.param]
    meta = {"name": "small", "namespace": name}
    objects: list[Mapping[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}]
    if case.items:
        spec: dict[str, Any] = {"limits": list(case.items)}
        objects.append({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": spec})
    if case.hard:
        spec = {"hard": dict(case.hard), "scopes": list(case.scopes)}
        objects.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
    apply(objects)
    wait_until(60, "the account", lambda: get("serviceaccount", "default", "-n", name))
    if case.hard:
        wait_until(60, "the quota", lambda: all("used" in q.get("status", {}) for q in quotas(name)))
    yield name, case
    kubectl("delete", "namespace", name, "--wait=false")


def quotas(namespace: str) -> list[Manifest]:
    return get("resourcequota", "-n", namespace)


def planned(namespace: str, case: QuotaCase) -> int | None:
    """How many fragments of a query the planner lets a namespace have, of MANY."""
    spec = {"sql": SQL, "resources": dict(case.resources)}
    query = {**STREAM, "kind": "StreamQuery", "metadata": {"name": "q"}, "spec": spec}
    there = [*quotas(namespace), *get("limitrange", "-n", namespace)]
    mine = [{**o, "metadata": {**o["metadata"], "namespace": namespace}} for o in (STREAM, query)]
    objects, wrong = from_raw([NODE, *there, *mine])
    assert wrong == []
    scene = build(objects)
    if scene.findings:
        return None
    budgets = scene.groups[0].problem.budgets
    rooms = [(budget.left, each) for budget in budgets for each in budget.each.values()]
    return max(n for n in range(MANY + 1) if all(n * each <= left * (1 + 1e-9) for left, each in rooms))


def pods_of(namespace: str, number: int, case: QuotaCase) -> list[Manifest]:
    """A fragment's pods as the operator and Spark make them; nobody owns them, and no node takes them."""
    executors = case.resources.get("executors", 0)
    amounts = {name: from_text(case.resources.get(name)) for name in ("cpu", "memory")}
    cpu, memory = share(amounts["cpu"], amounts["memory"], executors, Knobs().heap_mb)
    driver = Driver(
        namespace,
        f"f{number}",
        1,
        "no-such-node",
        f"{namespace}/q",
        "{}",
        "b",
        cpu,
        memory,
        OwnerReference("x", "x"),
    )
    template = DriverTemplate(image="weir-runtime:dev", service_account="default")
    pods = [build_driver_pod_spec(driver, template)]
    for i in range(executors):
        executor = build_executor_template(driver, template)
        executor["metadata"] |= {"name": f"f{number}-exec-{i}", "namespace": namespace}
        pods.append(executor)
    for pod in pods:
        pod["metadata"].pop("ownerReferences", None)
        pod["metadata"]["labels"] = {}  # else an operator would end it, as a pod that no plan has
    return pods


def from_text(text: str | None) -> float | None:
    from weir_operator.api.values import parse_quantity

    return None if text is None else parse_quantity(text)


def create(namespace: str, pod: Manifest) -> str:
    """What the API server says against it."""
    process = subprocess.run(
        ["kubectl", "create", "-n", namespace, "-f", "-"],
        input=json.dumps(pod), capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False,
    )  # fmt: skip
    return process.stderr if process.returncode else ""


def test_the_api_server_takes_as_many_pods_as_the_planner_says(case: tuple[str, QuotaCase]) -> None:
    namespace, present = case
    allowed = planned(namespace, present)
    assert allowed == present.fragments
    for number in range(allowed or 0):
        answers = [create(namespace, pod) for pod in pods_of(namespace, number, present)]
        assert not any(answers), answers
    if allowed != MANY:
        answers = [create(namespace, pod) for pod in pods_of(namespace, MANY, present)]
        assert any("forbidden" in a or "is invalid" in a or "Invalid" in a for a in answers), answers


def test_what_own_pods_hold_is_what_the_quota_counts(case: tuple[str, QuotaCase]) -> None:
    namespace, present = case
    for pod in pods_of(namespace, 0, present) if present.fragments else ():
        assert create(namespace, pod) == ""
    totals: dict[str, float] = {}
    for pod in get("pods", "-n", namespace):
        for resource, amount in counted(pod, 0.0).items():
            totals[resource] = totals.get(resource, 0.0) + amount
    for quota in quotas(namespace):
        if present.fragments != MANY:
            used = {resource: from_text(amount) for resource, amount in quota["status"]["used"].items()}
            assert used == pytest.approx({resource: totals.get(resource, 0.0) for resource in used})


def test_the_operator_says_why_a_query_waits_and_starts_it_when_it_fits(namespace: str) -> None:
    queries = [
        {
            **STREAM,
            "kind": "StreamQuery",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "sql": SQL, "sink": {"noop": {}}, "priority": priority,
            },
        }
        for name, priority in (("first", 1), ("second", 0))
    ]  # fmt: skip
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": namespace},
        "spec": {"hard": {"pods": "1"}},
    }
    apply([claim_of(namespace), quota])
    wait_until(60, "the quota", lambda: all("used" in q.get("status", {}) for q in quotas(namespace)))
    apply([{**STREAM, "metadata": {"name": "a", "namespace": namespace}}, *queries])
    flights.wait_ready(namespace, 240, ("first",))
    (second,) = get("streamquery", "second", "-n", namespace)
    assert condition(second, "Stalled")["status"] == "True"
    assert condition(second, "Ready")["message"] == (
        f"pods of ResourceQuota {namespace}/small: 1 needed for at least 1 fragment of 1, 0 left of 1"
    )
    assert len(flights.drivers(namespace)) == 1
    events = get("events", "-n", namespace)
    assert not [e for e in events if e["reason"] == "StartRefused"]
    kubectl("patch", "resourcequota", "small", "-n", namespace, "-p", '{"spec": {"hard": {"pods": "2"}}}')
    flights.wait_ready(namespace, 240, ("second",))
