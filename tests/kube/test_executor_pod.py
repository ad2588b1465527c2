"""Executors: the template that Spark fills in, what their account says, and the driver's rights."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from weir_operator.controller.decision import Start
from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.access import EXECUTOR_RIGHTS, build_role_spec, build_service_account_spec
from weir_operator.kube.budget import build_disruption_budget_spec
from weir_operator.kube.driver_pod import DATA_PATH, Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.executor_pod import account_annotations, build_executor_template, with_executors
from weir_operator.kube.fragment import driver_of, start_fragment
from weir_operator.kube.owner_references import OwnerReference
from weir_operator.kube.process import executors_by_driver, read_process
from weir_operator.manifests.requests import JVM_OVERHEAD
from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.location import Location
from weir_runtime.executors import BLOCK_PORT, DRIVER_PORT

OWNER = OwnerReference("delays", "0e9a")
TEMPLATE = DriverTemplate(image="weir-runtime@sha256:" + "0" * 64, claim="weir", pull_secrets=("login",))
DRIVER = Driver(
    "flights", "delays-f1", 4, "edge-1", "flights/delays", "{}", "b", 0.25, 2**30, OWNER,
    env=({"name": "TZ", "value": "UTC"},), secrets=("kafka-login",),
)  # fmt: skip


def start(executors: int) -> Start:
    spec = FragmentSpec(
        "delays-f1", "flights", "delays", "edge-1", 4,
        (Input("d", "exchange", flow=Location("folder", "/x")),),
        (), Output("noop"), "/c", "l", "s", executors=executors,
    )  # fmt: skip
    return Start(spec, "b", "flights/delays")


def test_an_executor_is_as_its_driver_but_for_its_token() -> None:
    driver, executor = build_driver_pod_spec(DRIVER, TEMPLATE), build_executor_template(DRIVER, TEMPLATE)
    (own,), (other,) = driver["spec"]["containers"], executor["spec"]["containers"]
    for field in ("affinity", "securityContext", "serviceAccountName", "tolerations", "imagePullSecrets"):
        assert executor["spec"][field] == driver["spec"][field]
    for field in ("image", "imagePullPolicy", "resources", "securityContext"):
        assert other[field] == own[field]
    assert executor["spec"]["automountServiceAccountToken"] is False
    assert executor["spec"]["restartPolicy"] == "Never"
    assert {m["mountPath"] for m in other["volumeMounts"]} == {
        "/tmp",
        DATA_PATH,
        "/etc/weir/secrets/kafka-login",
    }
    assert {"name": "TZ", "value": "UTC"} in other["env"]


def test_a_variable_from_a_secret_is_the_drivers_alone() -> None:
    wishes = {
        "env": [{"name": "KEY", "secretRef": {"name": "login", "key": "k"}}, {"name": "TZ", "value": "UTC"}]
    }
    driver = driver_of(start(0), OWNER, {"spec": wishes})
    (container,) = build_driver_pod_spec(driver, TEMPLATE)["spec"]["containers"]
    secret = {"secretKeyRef": {"name": "login", "key": "k"}}
    assert {"name": "KEY", "valueFrom": secret} in container["env"]
    mounted = [m["mountPath"] for m in container["volumeMounts"]]
    assert "/etc/weir/secrets/login" in mounted  # so that the driver sees when it is rotated
    assert {"name": "TZ", "value": "UTC"} in container["env"]
    (container,) = build_executor_template(driver, TEMPLATE)["spec"]["containers"]
    assert [entry["name"] for entry in container["env"]] == ["HOME", "TZ"]


def test_it_is_known_as_an_executor_of_its_fragment_whatever_the_query_says() -> None:
    hidden = replace(DRIVER, labels={names.ROLE: "driver", names.FRAGMENT: "another"})
    labels = build_executor_template(hidden, TEMPLATE)["metadata"]["labels"]
    assert labels[names.ROLE] == "executor"
    assert labels[names.FRAGMENT] == "delays-f1"
    assert labels[names.EPOCH] == "4"


def test_the_driver_finds_the_template_as_a_file_and_listens_where_executors_look() -> None:
    pod = with_executors(build_driver_pod_spec(DRIVER, TEMPLATE), DRIVER, TEMPLATE)
    template = build_executor_template(DRIVER, TEMPLATE)
    assert json.loads(pod["metadata"]["annotations"][names.EXECUTOR]) == template
    (volume,) = [v for v in pod["spec"]["volumes"] if "downwardAPI" in v]
    assert [item["path"] for item in volume["downwardAPI"]["items"]] == ["fragment.json", "executor.json"]
    (container,) = pod["spec"]["containers"]
    environment = {e["name"]: e for e in container["env"]}
    assert environment["WEIR_EXECUTOR_TEMPLATE"]["value"] == names.EXECUTOR_PATH
    assert environment["POD_UID"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.uid"
    assert {DRIVER_PORT, BLOCK_PORT} <= {port["containerPort"] for port in container["ports"]}
    assert list(names.SPARK_PORTS.values()) == [DRIVER_PORT, BLOCK_PORT]


def test_the_account_says_what_executors_may_have() -> None:
    volumes = ({"name": "ref", "persistentVolumeClaim": {"claimName": "reference"}},)
    notes = account_annotations(DRIVER, replace(TEMPLATE, volumes=volumes))
    assert notes["weir.dev/image"] == TEMPLATE.image
    assert notes["weir.dev/pull-secrets"] == "login"
    assert notes["weir.dev/claims"] == "weir,reference"
    assert notes["weir.dev/secrets"] == "kafka-login"
    account = build_service_account_spec("flights", "delays-f1", "flights/delays", OWNER, notes)
    assert account["metadata"]["labels"][names.EXECUTORS] == "true"
    plain = build_service_account_spec("flights", "delays-f1", "flights/delays", OWNER)
    assert names.EXECUTORS not in plain["metadata"]["labels"]


def test_rights_on_pods_come_with_executors_and_each_has_a_reason() -> None:
    about = ("flights", "delays-f1", "flights/delays", OWNER)
    _, pods = build_role_spec(*about, executors=True)["rules"]
    assert pods == {"apiGroups": [""], "resources": ["pods"], "verbs": list(EXECUTOR_RIGHTS)}
    assert all(len(reason) > 10 for reason in EXECUTOR_RIGHTS.values())
    assert len(build_role_spec(*about)["rules"]) == 1


@pytest.mark.parametrize("executors", [0, 1, 3])
def test_what_the_query_requests_is_what_all_pods_of_the_fragment_request(executors: int) -> None:
    wishes = {"spec": {"resources": {"cpu": "2", "memory": "12Gi", "executors": executors}}}
    driver = driver_of(start(executors), OWNER, wishes)
    assert driver.cpu * (1 + executors) == pytest.approx(2.0)
    assert driver.memory * (1 + executors) == pytest.approx(12 * 2**30)
    beyond = driver.memory - 512 * 2**20 - JVM_OVERHEAD
    assert heap(driver) == 512 + beyond // 2 // 2**20
    least = driver_of(start(executors), OWNER, {})
    assert least.memory == 512 * 2**20 + JVM_OVERHEAD
    assert heap(least) == 512


@pytest.mark.parametrize(
    ("cpu", "executors", "cores"), [(None, 0, 1), ("500m", 0, 1), ("4", 0, 4), ("3900m", 0, 3), ("8", 3, 2)]
)
def test_a_pod_works_with_the_whole_cores_that_it_requests(
    cpu: str | None, executors: int, cores: int
) -> None:
    wishes = {"spec": {"resources": {"cpu": cpu} if cpu else {}}}
    spec = FragmentSpec.from_json(driver_of(start(executors), OWNER, wishes).spec)
    assert (spec.cores, spec.executors) == (cores, executors)


def heap(driver: Driver) -> int:
    """[MiB] that its process is told."""
    return FragmentSpec.from_json(driver.spec).heap_mb


def test_an_account_that_the_policy_names_never_gets_rights_on_pods() -> None:
    class NoArguments:
        """An API server without objects, which takes none."""

        def get(self, *_: Any) -> None:
            return None

    shared = replace(TEMPLATE, service_account="lake-reader")
    with pytest.raises(Refused, match="lake-reader"):
        start_fragment(NoArguments(), start(1), OWNER, {}, shared)  # type: ignore[arg-type]


def test_the_budget_keeps_the_executors_without_which_nothing_is_committed() -> None:
    about = ("flights", "delays-f1", "flights/delays", OWNER)
    spec = build_disruption_budget_spec(*about, executors=2)["spec"]
    assert spec["minAvailable"] == 3
    (expression,) = spec["selector"]["matchExpressions"]
    assert expression["values"] == ["driver", "executor"]


def test_an_executor_without_room_is_a_fragment_without_room() -> None:
    driver = build_driver_pod_spec(DRIVER, TEMPLATE)
    driver["metadata"] |= {"uid": "d1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    driver["spec"]["nodeName"] = "edge-1"
    running = {"state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}, "ready": False}
    driver["status"] = {"phase": "Running", "containerStatuses": [running]}
    executor = build_executor_template(DRIVER, TEMPLATE)
    executor["metadata"] |= {
        "name": "delays-f1-e4-exec-1",
        "creationTimestamp": "2026-01-01T00:00:10Z",
        "ownerReferences": [{"uid": "d1"}],
    }
    full = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes: 1 Insufficient memory"}
    executor["status"] = {"phase": "Pending", "conditions": [full]}
    workers = executors_by_driver([driver, executor])
    process = read_process(driver, None, None, workers["d1"])
    assert process.no_room
    assert "delays-f1-e4-exec-1" in process.message
    assert not read_process(driver, None, None).no_room
    assert process.executors == 0
    executor["status"] = {"phase": "Running"}
    assert read_process(driver, None, None, workers["d1"]).executors == 1
