"""A worker stops answering, or loses its way to the API server, and comes back: no row is there twice."""

from __future__ import annotations

import subprocess

import pytest

from tests.e2e import flights
from tests.e2e.kubectl import ENVIRONMENT, Manifest, condition, get, wait_until
from tests.e2e.reference import judge


def docker(*arguments: str) -> None:
    """A command of the engine that the nodes are containers of."""
    subprocess.run(["docker", *arguments], check=True, env=ENVIRONMENT, capture_output=True)


@pytest.fixture
def frozen(operator: str):  # type: ignore[no-untyped-def]
    """Freezes workers; those that are still frozen at the end are let go."""
    names: list[str] = []

    def freeze(node: str) -> None:
        names.append(node)
        docker("pause", node)

    yield freeze
    for node in names:
        subprocess.run(["docker", "unpause", node], check=False, env=ENVIRONMENT, capture_output=True)


@pytest.fixture
def cut_off(operator: str):  # type: ignore[no-untyped-def]
    """Takes a worker's way to the API server, and that of its pods; storage and Kafka stay in reach."""
    names: list[str] = []

    def cut(node: str) -> None:
        (plane,) = get("nodes", "-l", "node-role.kubernetes.io/control-plane")
        address = next(a["address"] for a in plane["status"]["addresses"] if a["type"] == "InternalIP")
        names.append(node)
        rule = f"ip daddr {address} tcp dport 6443 drop"
        chains = "".join(
            f"chain {hook} {{ type filter hook {hook} priority 0; {rule}; }}; "
            for hook in ("forward", "output")
        )
        docker("exec", node, "nft", f"table ip weir_test {{ {chains}}}")

    yield cut
    for node in names:
        command = ["docker", "exec", node, "nft", "delete", "table", "ip", "weir_test"]
        subprocess.run(command, check=False, env=ENVIRONMENT, capture_output=True)


def fragments_off(namespace: str, node: str) -> set[str]:
    """Fragments that have a ready driver on another node."""
    return {
        p["metadata"]["labels"]["weir.dev/fragment"]
        for p in flights.drivers(namespace)
        if condition(p, "Ready").get("status") == "True" and p["spec"]["nodeName"] != node
    }


def running(node: str) -> set[str]:
    """Ids of the drivers' containers that the node itself says are running."""

    def told(*command: str) -> list[list[str]]:
        ctr = ["docker", "exec", node, "ctr", "-n", "k8s.io", *command]
        done = subprocess.run(ctr, check=True, env=ENVIRONMENT, capture_output=True, text=True)
        return [line.split() for line in done.stdout.splitlines()]

    drivers = told("containers", "list", "-q", 'labels."io.kubernetes.container.name"==driver')
    tasks = {line[0] for line in told("tasks", "list") if line[-1] == "RUNNING"}
    return {line[0] for line in drivers} & tasks


def is_ready(node: str) -> bool:
    """Whether the cluster believes in the node."""
    found: Manifest = get("node", node)[0]
    return condition(found, "Ready").get("status") == "True"


def test_a_frozen_worker_is_left_and_its_return_changes_nothing(namespace: str, frozen) -> None:  # type: ignore[no-untyped-def]
    flights.start(namespace, hours=120, speed=0.5)
    before = flights.nodes_of(namespace)
    node = next(iter(before.values()))
    frozen(node)
    wait_until(
        300, f"every fragment runs without {node}", lambda: len(fragments_off(namespace, node)) == len(before)
    )
    docker("unpause", node)
    wait_until(120, f"{node} is back", lambda: is_ready(node))
    flights.wait_ready(namespace, 180)
    judge(namespace, 400)


def test_a_worker_without_its_way_to_the_api_server_stops_by_itself(namespace: str, cut_off) -> None:  # type: ignore[no-untyped-def]
    flights.start(namespace, hours=120, speed=0.5)
    before = flights.nodes_of(namespace)
    node = next(iter(before.values()))
    there = [pod for pod, where in before.items() if where == node]
    containers = running(node)
    cut_off(node)
    # Its drivers cannot renew their leases: each one ends itself, though storage and Kafka answer.
    wait_until(60, f"no driver of {node} goes on", lambda: not (running(node) & containers))
    wait_until(
        300, f"every fragment runs without {node}", lambda: len(fragments_off(namespace, node)) == len(before)
    )
    docker("exec", node, "nft", "delete", "table", "ip", "weir_test")
    wait_until(120, f"{node} is back", lambda: is_ready(node))
    wait_until(180, "the old pods are gone", lambda: not set(there) & set(flights.nodes_of(namespace)))
    flights.wait_ready(namespace, 180)
    judge(namespace, 400)
