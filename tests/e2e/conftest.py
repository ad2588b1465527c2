"""The cluster under test, the operator in it, and a namespace for each test."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.kubectl import CACHE, CLUSTER, ENVIRONMENT, REPOSITORY, apply, get, kubectl, run

RELEASE = "weir"
OPERATOR_NAMESPACE = "weir-system"
OPERATORS = ("-l", "app.kubernetes.io/name=weir-operator")
WEIR = str(Path(sys.executable).with_name("weir"))
WIDE = "COLUMNS=200"  # so that no line of a table is folded
SHARED = CACHE / f"shared-{CLUSTER}"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def _tell(command: list[str]) -> None:
    """A command whose progress is shown."""
    subprocess.run(command, check=True, cwd=REPOSITORY)


_leaving: list[str] = []
"""Namespaces that tests have deleted: they go while the next tests run."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """The cluster, up, with the images of this tree on its nodes; at the end no test's namespace is left."""
    _tell(["hack/cluster/up"])
    _tell(["hack/images/build", "--load"])
    _tell(["hack/tools", "helm"])
    yield
    for name in _leaving:
        kubectl("wait", "--for=delete", f"namespace/{name}", "--timeout=180s", timeout=200)
        kubectl("delete", "persistentvolume", name)
        shutil.rmtree(SHARED / name)


def install(*settings: str, tree: Path = REPOSITORY, tag: str = "dev") -> None:
    """helm upgrade --install of a tree's chart, beside the control plane; returns when it is ready.

    Only what the images are called and where the pods go differs from the defaults, and that a batch is begun
    every four seconds at most: two cores are to carry the starts of drivers beside what all of them do.
    """
    values = [
        f"image.operator.tag={tag}",
        f"image.runtime.tag={tag}",
        *(["fragments.triggerMs=4000"] if tree == REPOSITORY else []),  # an earlier chart does not know it
        f"tolerations[0].key={CONTROL_PLANE}",
        "tolerations[0].operator=Exists",
        *settings,
    ]
    run(
        *("helm", "upgrade", "--install", RELEASE, str(tree / "charts" / "weir")),
        *("--namespace", OPERATOR_NAMESPACE, "--create-namespace", "--wait", "--timeout", "150s"),
        *(f"--set={setting}" for setting in values),
        f"--set-string=nodeSelector.{CONTROL_PLANE.replace('.', chr(92) + '.')}=",
        timeout=200,
    )


@pytest.fixture(scope="session")
def release(cluster: None) -> Iterator[None]:
    """Nothing at first; at the end nothing of Weir is left in the cluster."""
    yield
    uninstall()


@pytest.fixture
def operator(release: None) -> str:
    """The operator, installed by Helm unless it is there already; its namespace."""
    return ensure_installed()


def ensure_installed() -> str:
    """The operator's namespace, with the operator in it."""
    if not installed():
        # what a run that was killed may have left half done
        run("helm", "uninstall", RELEASE, "-n", OPERATOR_NAMESPACE, "--no-hooks", "--ignore-not-found")
        apply([namespace_of(OPERATOR_NAMESPACE)])
        install()
    return OPERATOR_NAMESPACE


@pytest.fixture(params=["Dedicated", "Shared"])
def isolation(operator: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Of fragments, as a policy may say it: the chart has what that needs."""
    install(f"fragments.hosts={'true' if request.param == 'Shared' else 'false'}")
    yield request.param
    if installed():
        install()


def installed() -> bool:
    """Whether the release is in the cluster."""
    return bool(json.loads(run("helm", "list", "-n", OPERATOR_NAMESPACE, "--deployed", "-o", "json")))


def weir(*arguments: str, timeout: float = 200) -> str:
    """Standard output of the command line, which speaks to the cluster under test."""
    return run("env", WIDE, WEIR, *arguments, timeout=timeout)


def uninstall() -> None:
    """All that was installed, as docs/kubernetes.md says it."""
    weir("uninstall", "--all", "--timeout", "180")
    run("helm", "uninstall", RELEASE, "-n", OPERATOR_NAMESPACE, "--wait", "--ignore-not-found", timeout=200)
    kubectl("delete", "namespace", OPERATOR_NAMESPACE, "--ignore-not-found")


@pytest.fixture(scope="session")
def kstatus() -> Path:
    """The program that computes health by kstatus's own module."""
    program = CACHE / "bin" / "kstatus"
    subprocess.run(
        ["go", "build", "-trimpath", "-o", str(program), "."],
        cwd=REPOSITORY / "tests/e2e/kstatus", env={**ENVIRONMENT, "CGO_ENABLED": "0"}, check=True,
    )  # fmt: skip
    return program


@pytest.fixture
def namespace(operator: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own."""
    with fresh_namespace(request.session) as name:
        yield name


@contextmanager
def fresh_namespace(session: pytest.Session) -> Iterator[str]:
    """A namespace under the `restricted` standard with a ReadWriteMany volume of its own."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    folder = SHARED / name
    folder.mkdir(parents=True)
    folder.chmod(0o777)  # the pods are not root, and a host folder knows no fsGroup
    apply([namespace_of(name), volume_of(name)])
    failed = True
    try:
        yield name
        failed = bool(session.testsfailed)
    finally:
        if failed:
            _report(name)
        kubectl("delete", "namespace", name, "--wait=false")
        _leaving.append(name)


def namespace_of(name: str) -> dict[str, object]:
    """The namespace, which refuses any pod that is not restricted."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def volume_of(name: str) -> dict[str, object]:
    """A static volume for the claim `weir-exchange` of the namespace, on the shared folder."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "hostPath": {"path": f"/var/weir-shared/{name}", "type": "Directory"},
            "claimRef": {"namespace": name, "name": "weir-exchange"},
        },
    }


def claim_of(name: str) -> dict[str, object]:
    """The claim on that volume, which queries that run need."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "weir-exchange", "namespace": name},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }


def _report(name: str) -> None:
    """What a person would look at first, into out/e2e/<namespace>."""
    folder = REPOSITORY / "out" / "e2e" / name
    folder.mkdir(parents=True, exist_ok=True)

    def keep(file: str, *arguments: str) -> None:
        command = ["kubectl", *arguments]
        process = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
        (folder / file).write_text(process.stdout + process.stderr)

    kinds = ["pods", "events", "leases", "persistentvolumeclaims", "streamqueries", "placements", "streams"]
    for kind in kinds:
        keep(f"{kind}.yaml", "get", kind, "-o", "yaml", "-n", name)
    for pod in get("pods", "-n", name):
        pod_name = pod["metadata"]["name"]
        logs = ("logs", "-n", name, pod_name, "--all-containers", "--tail=2000")
        keep(f"{pod_name}.log", *logs)
        if any(state["restartCount"] for state in pod["status"].get("containerStatuses", ())):
            keep(f"{pod_name}.before.log", *logs, "--previous")
    keep("operator.log", "logs", "-n", OPERATOR_NAMESPACE, *OPERATORS, "--tail=2000")
    print(f"what was there: {folder}")
