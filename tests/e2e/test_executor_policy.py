"""What the API server lets a driver with executors make and remove: executors of its own, nothing else."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from weir_operator.kube import names
from weir_operator.kube.access import build_role_binding_spec, build_role_spec, build_service_account_spec
from weir_operator.kube.driver_pod import Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.executor_pod import account_annotations, build_executor_template, with_executors
from weir_operator.kube.owner_references import OwnerReference

from tests.e2e.kubectl import ENVIRONMENT, Manifest, apply, get, kubectl, wait_until

TEMPLATE = DriverTemplate(image="weir-runtime:dev", claim="weir-exchange", pull_secrets=("login",))
NOWHERE = "no-such-node"  # the pods stay pending


@dataclass(frozen=True)
class Asker:
    """A fragment's driver, and kubectl with the token of its pod."""

    namespace: str
    config: Path
    pod: Manifest
    template: Manifest

    def executor(self) -> Manifest:
        """As Spark makes it from the template."""
        pod, driver = deepcopy(self.template), self.pod["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": driver["name"], "uid": driver["uid"]}
        pod["metadata"] |= {
            "name": f"{driver['name']}-exec-1",
            "namespace": self.namespace,
            "ownerReferences": [{**owner, "controller": True}],
        }
        pod["metadata"]["labels"]["spark-role"] = "executor"
        (container,) = pod["spec"]["containers"]
        address = {"name": "SPARK_EXECUTOR_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
        container |= {"args": ["executor"], "env": [*container["env"], address]}
        container["ports"] = [{"name": "blockmanager", "containerPort": 7079, "protocol": "TCP"}]
        return pod

    def ask(self, *arguments: str, stdin: str = "") -> str:
        """The API server's answer; nothing is changed."""
        command = ["kubectl", f"--kubeconfig={self.config}", "-n", self.namespace, *arguments]
        process = subprocess.run(
            [*command, "--dry-run=server"],
            input=stdin, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False,
        )  # fmt: skip
        return process.stdout + process.stderr

    def create(self, pod: Manifest) -> str:
        """The answer to a pod that it asks for."""
        return self.ask("create", "-f", "-", stdin=json.dumps(pod))


def with_account(namespace: str, fragment: str, folder: Path) -> Asker:
    """A fragment with executors as the operator makes it, but for its owner."""
    query, nobody = f"{namespace}/q", OwnerReference("none", "none")
    driver = Driver(namespace, fragment, 1, NOWHERE, query, "{}", "b", 0.1, 2**30, nobody)
    about = (namespace, fragment, query, nobody)
    objects = [
        build_service_account_spec(*about, executors=account_annotations(driver, TEMPLATE)),
        build_role_spec(*about, executors=True),
        build_role_binding_spec(*about),
        with_executors(build_driver_pod_spec(driver, TEMPLATE), driver, TEMPLATE),
    ]
    for manifest in objects:
        del manifest["metadata"]["ownerReferences"]
        if manifest["kind"] == "Pod":
            manifest["metadata"][
                "labels"
            ] = {}  # else the operator would end it, as a driver that no plan has
    apply(objects)
    (pod,) = get("pods", "-n", namespace, names.pod_name(fragment, 1))
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod['metadata']['name']}")
    token = kubectl("create", "token", "-n", namespace, fragment, *bound).strip()
    config = yaml.safe_load(kubectl("config", "view", "--raw", "--flatten"))
    config["users"][0]["user"] = {"token": token}
    file = folder / f"{fragment}.yaml"
    file.write_text(yaml.safe_dump(config))
    return Asker(namespace, file, pod, build_executor_template(driver, TEMPLATE))


@pytest.fixture(scope="module")
def own_namespace(operator_for_module: None) -> Iterator[str]:
    """One without a pod standard, so that it is the policy that refuses."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def operator_for_module(request: pytest.FixtureRequest) -> None:
    """The operator with its chart, as for every test."""
    request.getfixturevalue("release")
    from tests.e2e.conftest import ensure_installed

    ensure_installed()


@pytest.fixture(scope="module")
def neighbour(own_namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    """Another fragment in the same namespace."""
    return with_account(own_namespace, "q-f2", tmp_path_factory.mktemp("policy"))


@pytest.fixture(scope="module")
def asker(own_namespace: str, neighbour: Asker, tmp_path_factory: pytest.TempPathFactory) -> Asker:
    """A driver whose policy is in force."""
    result = with_account(own_namespace, "q-f1", tmp_path_factory.mktemp("policy"))
    other = {**result.executor(), "metadata": {**result.executor()["metadata"], "labels": {"app": "miner"}}}
    answers: list[str] = []

    def refused() -> bool:
        answers.append(result.create(other))
        return "ValidatingAdmissionPolicy" in answers[-1]

    try:
        wait_until(180, "the policy is in force", refused)
    except AssertionError as error:
        raise AssertionError(f"{error}: {answers[-1]}") from None
    return result


def test_an_executor_of_its_own_is_made(asker: Asker) -> None:
    assert asker.create(asker.executor()) == "pod/q-f1-e1-exec-1 created (server dry run)\n"


def put(path: str, value: Any) -> Callable[[Manifest], None]:
    """Sets what a path of keys and positions names."""

    def change(pod: Manifest) -> None:
        keys: list[Any] = [int(key) if key.isdigit() else key.replace("~", "/") for key in path.split("/")]
        *way, last = keys
        place: Any = pod
        for key in way:
            place = place[key] if isinstance(place, list) else place.setdefault(key, {})
        if isinstance(place, list) and last == len(place):
            place.append(value)
        else:
            place[last] = value

    return change


SECRET = {"secretKeyRef": {"name": "login", "key": "password"}}
CONTAINER = "spec/containers/0"
OTHER = {"name": "other", "image": "weir-runtime:dev"}
REFUSED = {
    "another fragment": ("labels", put("metadata/labels/weir.dev~fragment", "q-f2")),
    "another role": ("labels", put("metadata/labels/weir.dev~role", "driver")),
    "no owner": ("ownerReferences", put("metadata/ownerReferences", [])),
    "another owner": ("ownerReferences", put("metadata/ownerReferences/0/uid", "0e9a")),
    "a finalizer": ("ownerReferences", put("metadata/finalizers", ["example.org/stay"])),
    "a token": ("serviceAccountName", put("spec/automountServiceAccountToken", True)),
    "another account": ("serviceAccountName", put("spec/serviceAccountName", "q-f2")),
    "another image": ("spec.containers:", put(f"{CONTAINER}/image", "miner:latest")),
    "a further image": ("spec.containers:", put("spec/containers/1", {**OTHER, "image": "miner:latest"})),
    "an init container": ("spec.containers:", put("spec/initContainers", [OTHER])),
    "another login": ("imagePullSecrets", put("spec/imagePullSecrets/0/name", "theirs")),
    "a host's folder": ("volumes", put("spec/volumes/2", {"name": "h", "hostPath": {"path": "/"}})),
    "another claim": (
        "volumes",
        put("spec/volumes/2", {"name": "c", "persistentVolumeClaim": {"claimName": "theirs"}}),
    ),
    "a secret": ("volumes", put("spec/volumes/2", {"name": "s", "secret": {"secretName": "theirs"}})),
    "a config map": ("volumes", put("spec/volumes/2", {"name": "s", "configMap": {"name": "theirs"}})),
    "a projected token": (
        "volumes",
        put(
            "spec/volumes/2",
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        ),
    ),
    "a secret's variable": ("env:", put(f"{CONTAINER}/env/0", {"name": "A", "valueFrom": SECRET})),
    "all of a secret": ("env:", put(f"{CONTAINER}/envFrom", [{"secretRef": {"name": "login"}}])),
    "the host's network": ("host", put("spec/hostNetwork", True)),
    "the host's processes": ("host", put("spec/hostPID", True)),
    "the host's memory": ("host", put("spec/hostIPC", True)),
    "a port of the host": ("host", put(f"{CONTAINER}/ports/0/hostPort", 7079)),
    "a node of its own": ("host", put("spec/nodeName", "n1")),
    "a class of its own": ("runtimeClassName", put("spec/priorityClassName", "system-node-critical")),
    "root": ("spec.securityContext", put("spec/securityContext/runAsNonRoot", False)),
    "user 0": ("spec.securityContext", put("spec/securityContext/runAsUser", 0)),
    "no seccomp": ("spec.securityContext", put("spec/securityContext/seccompProfile/type", "Unconfined")),
    "a sysctl": (
        "spec.securityContext",
        put("spec/securityContext/sysctls", [{"name": "kernel.msgmax", "value": "1"}]),
    ),
    "no context": ("containers[].securityContext", put(f"{CONTAINER}/securityContext", {})),
    "escalation": (
        "containers[].securityContext",
        put(f"{CONTAINER}/securityContext/allowPrivilegeEscalation", True),
    ),
    "privileges": (
        "containers[].securityContext",
        put(f"{CONTAINER}/securityContext", {"privileged": True, "readOnlyRootFilesystem": True}),
    ),
    "a writable root": (
        "containers[].securityContext",
        put(f"{CONTAINER}/securityContext/readOnlyRootFilesystem", False),
    ),
    "a capability": (
        "containers[].securityContext",
        put(f"{CONTAINER}/securityContext/capabilities/add", ["NET_ADMIN"]),
    ),
    "root in the container": (
        "containers[].securityContext",
        put(f"{CONTAINER}/securityContext/runAsUser", 0),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_any_other_pod_is_refused(asker: Asker, case: str) -> None:
    named, change = REFUSED[case]
    pod = asker.executor()
    change(pod)
    answer = asker.create(pod)
    assert "ValidatingAdmissionPolicy" in answer, answer
    assert named in answer, answer


def test_its_own_executors_are_removed_and_no_other_pod(asker: Asker, neighbour: Asker) -> None:
    apply([asker.executor(), neighbour.executor()])
    assert "deleted" in asker.ask("delete", "pod", "q-f1-e1-exec-1")
    for other in ("q-f1-e1", "q-f2-e1", "q-f2-e1-exec-1"):
        assert "denied request: labels" in asker.ask("delete", "pod", other)
    assert "denied request: labels" in asker.ask("delete", "pods", "--all")


def test_a_token_of_no_pod_makes_none(asker: Asker, tmp_path: Path) -> None:
    config = yaml.safe_load(asker.config.read_text())
    config["users"][0]["user"] = {"token": kubectl("create", "token", "-n", asker.namespace, "q-f1").strip()}
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    answer = Asker(asker.namespace, file, asker.pod, asker.template).create(asker.executor())
    assert "ownerReferences" in answer


def test_others_are_no_business_of_the_policy(asker: Asker) -> None:
    free = {"name": "free", "namespace": asker.namespace}
    spec = {"serviceAccountName": "q-f1", "containers": [OTHER]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": free, "spec": spec}
    assert "created" in kubectl("create", "-f", "-", "--dry-run=server", stdin=json.dumps(pod))
