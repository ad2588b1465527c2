"""The driver's Pod: pinned, restricted, self-describing, with nothing of the query but what it may say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from weir_operator.kube import names
from weir_operator.kube.driver_pod import DATA_PATH, SPEC_PATH, Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.owner_references import OwnerReference

TEMPLATE = DriverTemplate(image="registry.example/weir-runtime@sha256:" + "0" * 64, claim="weir")
DRIVER = Driver(
    namespace="flights",
    fragment="delays-f1",
    epoch=4,
    node="edge-1.example.org",
    query="flights/delays",
    spec=json.dumps({"name": "delays-f1"}),
    build="abc123",
    cpu=0.25,
    memory=1.5 * 2**30,
    owner=OwnerReference("delays", "0e9a"),
)


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["spec"]["containers"]
    return only


def variables(values: dict[str, str]) -> tuple[dict[str, str], ...]:
    return tuple({"name": name, "value": value} for name, value in values.items())


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container(pod)["env"]}


def test_pinned_by_the_nodes_name_and_not_by_a_label() -> None:
    pod = build_driver_pod_spec(DRIVER, TEMPLATE)
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"] == [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["edge-1.example.org"]}]}
    ]
    assert "nodeSelector" not in pod["spec"]
    assert "nodeName" not in pod["spec"]  # the scheduler must see requests, quotas and taints


def test_one_pod_for_each_epoch_owned_by_the_placement() -> None:
    pod = build_driver_pod_spec(DRIVER, TEMPLATE)
    assert pod["metadata"]["name"] == "delays-f1-e4"
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "Placement",
        "name": "delays",
        "uid": "0e9a",
        "controller": True,
    }
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert build_driver_pod_spec(replace(DRIVER, epoch=5), TEMPLATE)["metadata"]["name"] == "delays-f1-e5"


def test_restricted_and_nothing_writable_but_scratch_and_data() -> None:
    pod = build_driver_pod_spec(DRIVER, TEMPLATE)
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    security = container(pod)["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    writable = {m["mountPath"] for m in container(pod)["volumeMounts"] if not m.get("readOnly")}
    assert writable == {"/tmp", DATA_PATH}
    assert not any("hostPath" in volume for volume in pod["spec"]["volumes"])


def test_the_spec_is_a_file_from_the_pods_own_annotation() -> None:
    pod = build_driver_pod_spec(DRIVER, TEMPLATE)
    assert pod["metadata"]["annotations"][names.SPEC] == DRIVER.spec
    (item,) = next(v for v in pod["spec"]["volumes"] if v["name"] == "spec")["downwardAPI"]["items"]
    assert item == {
        "path": "fragment.json",
        "fieldRef": {"fieldPath": f"metadata.annotations['{names.SPEC}']"},
    }
    assert container(pod)["args"][-1] == SPEC_PATH


def test_requests_are_whole_millicores_and_bytes_and_only_memory_is_limited() -> None:
    resources = container(build_driver_pod_spec(DRIVER, TEMPLATE))["resources"]
    assert resources == {
        "requests": {"cpu": "250m", "memory": "1610612736"},
        "limits": {"memory": "1610612736"},
    }


@pytest.mark.parametrize("name", ["WEIR_LEASE", "WEIR_EPOCH", "POD_NAME", "HOME"])
def test_a_query_cannot_replace_what_the_operator_sets(name: str) -> None:
    pod = build_driver_pod_spec(replace(DRIVER, env=variables({name: "stolen", "TZ": "UTC"})), TEMPLATE)
    assert environment(pod)[name] != "stolen"
    assert environment(pod)["TZ"] == "UTC"
    assert len(environment(pod)) == len(container(pod)["env"])


def test_a_querys_labels_do_not_override_the_policys() -> None:
    driver = replace(DRIVER, labels={"cost-centre": "theirs", "team": "ops"})
    template = replace(TEMPLATE, labels={"cost-centre": "ours"})
    labels = build_driver_pod_spec(driver, template)["metadata"]["labels"]
    assert (labels["cost-centre"], labels["team"]) == ("ours", "ops")


def test_a_querys_labels_cannot_hide_the_pod_from_its_budget() -> None:
    hidden = {names.FRAGMENT: "another", names.ROLE: "executor", "team": "ops"}
    labels = build_driver_pod_spec(replace(DRIVER, labels=hidden), TEMPLATE)["metadata"]["labels"]
    assert labels[names.FRAGMENT] == "delays-f1"
    assert labels[names.ROLE] == "driver"
    assert labels["team"] == "ops"


def test_the_account_is_the_fragments_own_unless_the_policy_names_one() -> None:
    assert build_driver_pod_spec(DRIVER, TEMPLATE)["spec"]["serviceAccountName"] == "delays-f1"
    named = replace(TEMPLATE, service_account="lake-reader")
    assert build_driver_pod_spec(DRIVER, named)["spec"]["serviceAccountName"] == "lake-reader"


def test_secrets_are_files_that_only_the_pods_group_reads() -> None:
    pod = build_driver_pod_spec(replace(DRIVER, secrets=("bids-login", "kafka-ca")), TEMPLATE)
    mounts = {m["name"]: m for m in container(pod)["volumeMounts"]}
    for volume in (v for v in pod["spec"]["volumes"] if "secret" in v):
        assert volume["secret"]["defaultMode"] == 0o440
        assert mounts[volume["name"]]["mountPath"] == f"/etc/weir/secrets/{volume['secret']['secretName']}"
        assert mounts[volume["name"]]["readOnly"] is True
    assert sum("secret" in v for v in pod["spec"]["volumes"]) == 2
