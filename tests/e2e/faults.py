"""Workers that stop answering, or lose their way to the API server, and what still runs on them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.kubectl import (
    CLUSTER,
    ENVIRONMENT,
    WORKERS,
    Manifest,
    condition,
    get,
    kubectl,
    refusal,
    wait_until,
)


def _docker(*arguments: str, check: bool = True) -> str:
    """Standard output of a command of the engine that the nodes are containers of."""
    command = ["docker", *arguments]
    return subprocess.run(command, check=check, env=ENVIRONMENT, capture_output=True, text=True).stdout


@contextmanager
def frozen(node: str) -> Iterator[None]:
    """No process of the worker runs."""
    _docker("pause", node)
    try:
        yield
    finally:
        _docker("unpause", node, check=False)


@contextmanager
def cut_off(node: str) -> Iterator[None]:
    """The worker and its pods do not reach the API server; storage and Kafka stay in reach."""
    rule = "tcp dport 6443 drop"  # of either family: a kubelet that loses one address takes the other
    chains = "".join(
        f"chain {hook} {{ type filter hook {hook} priority 0; {rule}; }}; " for hook in ("forward", "output")
    )
    _docker("exec", node, "nft", f"table inet weir_test {{ {chains}}}")
    try:
        yield
    finally:
        _docker("exec", node, "nft", "delete", "table", "inet", "weir_test", check=False)


@contextmanager
def without_api_server() -> Iterator[None]:
    """No API server runs, as its kubelet has no manifest of it; at the end it answers again."""
    node, manifest = f"{CLUSTER}-control-plane", "/etc/kubernetes/manifests/kube-apiserver.yaml"
    _docker("exec", node, "mv", manifest, "/kube-apiserver.yaml")
    try:
        wait_until(90, "the API server has ended", lambda: not api_server_answers(), every=1)
        yield
    finally:
        _docker("exec", node, "mv", "/kube-apiserver.yaml", manifest, check=False)
        wait_until(120, "the API server is back", api_server_answers, every=1)


def api_server_answers() -> bool:
    """Asked once, where `kubectl` of the tests would go on asking."""
    command = ["kubectl", "get", "--raw", "/readyz", "--request-timeout=3s"]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False).returncode == 0


@contextmanager
def cordoned(*nodes: str) -> Iterator[None]:
    """Nothing new is put on the nodes."""
    for node in nodes:
        kubectl("cordon", node)
    try:
        yield
    finally:
        for node in WORKERS:  # what was drained inside too
            kubectl("uncordon", node)


@contextmanager
def tainted(node: str) -> Iterator[None]:
    """As an autoscaler says that it will remove the node."""
    taint = "ToBeDeletedByClusterAutoscaler"
    kubectl("taint", "node", node, f"{taint}=1:NoSchedule")
    try:
        yield
    finally:
        kubectl("taint", "node", node, f"{taint}-")
        kubectl("uncordon", node)  # it was drained inside


def drain(node: str) -> None:
    """`kubectl drain`, which deletes nothing by force; raises when it does not end."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=240s")
    kubectl("drain", node, *options, timeout=260)


def budgets(namespace: str) -> dict[str, Manifest]:
    """Spec of each fragment's disruption budget."""
    objects = get("poddisruptionbudgets", "-n", namespace, "-l", "app.kubernetes.io/managed-by=weir")
    return {b["metadata"]["labels"]["weir.dev/fragment"]: b["spec"] for b in objects}


def refused_eviction(namespace: str, pod: str) -> str:
    """Posts an eviction, as a drain does, that must be refused; what the API server says."""
    meta = {"name": pod, "namespace": namespace}
    eviction = json.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta})
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    return refusal("kubectl", "create", "--raw", path, "-f", "-", stdin=eviction)


def running_drivers(node: str) -> set[str]:
    """Ids of the drivers' containers that the node itself says are running."""

    def told(*command: str) -> list[list[str]]:
        return [line.split() for line in _docker("exec", node, "ctr", "-n", "k8s.io", *command).splitlines()]

    drivers = told("containers", "list", "-q", 'labels."io.kubernetes.container.name"==driver')
    tasks = {line[0] for line in told("tasks", "list") if line[-1] == "RUNNING"}
    return {line[0] for line in drivers} & tasks


def is_ready(node: str) -> bool:
    """Whether the cluster believes in the node."""
    manifest: Manifest = get("node", node)[0]
    return condition(manifest, "Ready").get("status") == "True"
