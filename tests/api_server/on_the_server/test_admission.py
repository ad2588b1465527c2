"""What admission says of the pods and rights that the operator makes: nothing in memory knows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.decision import Start
from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.access import build_role_spec
from weir_operator.kube.api import ApiError, path_of
from weir_operator.kube.driver_pod import DriverTemplate
from weir_operator.kube.executor_pod import build_executor_template
from weir_operator.kube.fragment import driver_of, start_fragment
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.sweeper import build_sweep_pod_spec
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.location import Location

from tests.api_server.api_under_test import ApiUnderTest, manifest

OWNER = OwnerReference("q", "0e9a")
TEMPLATE = DriverTemplate(image="weir-runtime:dev", claim="weir-exchange")
QUERY = {
    "spec": {
        "env": [{"name": "A", "value": "b"}, {"name": "C", "secretRef": {"name": "s", "key": "k"}}],
        "labels": {"team": "x"},
        "tolerations": [{"key": "pool", "operator": "Exists", "effect": "NoSchedule"}],
        "resources": {"cpu": "500m", "memory": "2Gi"},
    }
}


def start(namespace: str, **changes: Any) -> Start:
    spec = FragmentSpec(
        "f1", namespace, "q", "n1", 1, (Input("d", "exchange", flow=Location("folder", "/x")),), (),
        Output("noop"), "/c", "l", "/s",
    )  # fmt: skip
    return Start(replace(spec, **changes), "b", f"{namespace}/q")


@pytest.fixture
def strict(target: ApiUnderTest) -> ApiUnderTest:
    """The namespace is under the strictest pod standard."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    target.admin.merge("Namespace", "", target.namespace, {"metadata": {"labels": labels}})
    return target


@pytest.mark.parametrize("executors", [0, 2])
@pytest.mark.parametrize("standby", [False, True])
def test_a_driver_with_all_it_needs_is_admitted_and_stored_as_it_was_asked(
    strict: ApiUnderTest, executors: int, standby: bool
) -> None:
    start_action = start(strict.namespace, executors=executors, standby=standby)
    query = QUERY if not executors else {"spec": {**QUERY["spec"], "env": QUERY["spec"]["env"][:1]}}
    start_fragment(strict.api, start_action, OWNER, query, TEMPLATE)
    pod = strict.admin.get("Pod", strict.namespace, "f1-e1") or {}
    assert pod["spec"]["serviceAccountName"] == "f1"
    assert pod["metadata"]["labels"][names.ROLE] == "driver"
    assert len(list(strict.api.list("Pod", strict.namespace, names.DRIVERS))) == 1
    (token,) = [v for v in pod["spec"]["volumes"] if "projected" in v]
    assert token["name"].startswith("kube-api-access"), "it renews its lease"
    start_fragment(strict.api, start_action, OWNER, query, TEMPLATE)


def test_an_executor_and_a_sweeper_are_admitted_too(strict: ApiUnderTest) -> None:
    start_action = start(strict.namespace, executors=2)
    start_fragment(strict.api, start_action, OWNER, {}, TEMPLATE)
    executor = build_executor_template(driver_of(start_action, OWNER, {}), TEMPLATE)
    meta = {**executor["metadata"], "name": "x", "namespace": strict.namespace}
    assert strict.admin.create({**executor, "apiVersion": "v1", "kind": "Pod", "metadata": meta})
    assert strict.api.create(build_sweep_pod_spec(strict.namespace, frozenset({"f1"}), TEMPLATE, []))


def test_a_policy_that_asks_for_more_than_the_standard_allows_is_refused_in_its_words(
    strict: ApiUnderTest,
) -> None:
    loose = replace(TEMPLATE, container_security={"allowPrivilegeEscalation": True})
    with pytest.raises(ApiError, match='violates PodSecurity "restricted') as refused:
        start_fragment(strict.api, start(strict.namespace), OWNER, {}, loose)
    assert refused.value.status == 403


def test_a_limit_range_says_what_is_too_much(target: ApiUnderTest) -> None:
    limits = [{"type": "Container", "max": {"memory": "1Gi"}}]
    assert target.admin.create(manifest("LimitRange", target.namespace, "few", spec={"limits": limits}))
    with pytest.raises(ApiError, match="maximum memory usage per Container is 1Gi") as refused:
        start_fragment(target.api, start(target.namespace), OWNER, QUERY, TEMPLATE)
    assert refused.value.status == 403


def test_the_operator_gives_nobody_more_than_it_has(target: ApiUnderTest) -> None:
    role = build_role_spec(target.namespace, "f1", f"{target.namespace}/q", OWNER, executors=True)
    target.api.apply(role)
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    with pytest.raises(ApiError, match="attempting to grant RBAC permissions not currently held") as refused:
        target.api.apply({**role, "rules": [*role["rules"], secrets]})
    assert refused.value.status == 403


@pytest.mark.parametrize(
    ("verb", "kind", "may"),
    [("GET", "Secret", False), ("GET", "StreamQuery", False), ("GET", "Pod", True), ("GET", "Lease", True)],
)
def test_what_the_operator_may_read_one_by_one(target: ApiUnderTest, verb: str, kind: str, may: bool) -> None:
    path = f"/api/v1/namespaces/{target.namespace}/secrets/x"
    with pytest.raises(ApiError) as refused:
        target.api.call(verb, path if kind == "Secret" else path_of(kind, target.namespace, "x"))
    assert refused.value.status == (404 if may else 403)


def test_what_executors_cannot_have_is_refused_before_anything_is_made(target: ApiUnderTest) -> None:
    with pytest.raises(Refused, match="serviceAccountName"):
        start_fragment(
            target.api,
            start(target.namespace, executors=1),
            OWNER,
            {},
            replace(TEMPLATE, service_account="x"),
        )
    assert list(target.api.list("Lease", target.namespace)) == []
