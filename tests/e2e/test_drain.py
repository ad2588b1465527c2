"""Workers are drained while rows flow: with room elsewhere fragments move first; with none the drain ends."""

from __future__ import annotations

import pytest

from tests.e2e import flights
from tests.e2e.kubectl import CLUSTER, get, kubectl, wait_until
from tests.e2e.reference import judge

WORKERS = [f"{CLUSTER}-worker", f"{CLUSTER}-worker2", f"{CLUSTER}-worker3"]


@pytest.fixture(autouse=True)
def open_again(operator: str):  # type: ignore[no-untyped-def]
    yield
    for node in WORKERS:
        kubectl("uncordon", node)


def drain(node: str) -> None:
    """`kubectl drain`, which deletes nothing by force; raises when it does not end."""
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=240s")
    kubectl("drain", node, *options, timeout=260)


def test_with_room_elsewhere_fragments_move_before_they_go(namespace: str, operator: str) -> None:
    flights.start(namespace, hours=60, speed=0.5)
    node = next(iter(flights.nodes_of(namespace).values()))
    kubectl("cordon", node)
    wait_until(120, "a move is under way", lambda: of_second_epoch(namespace))
    for pod in get("pods", "-n", operator, "-l", "app.kubernetes.io/name=weir-operator"):
        flights.kill(operator, pod["metadata"]["name"])  # whoever leads next goes on with the move
    drain(node)
    flights.wait_ready(namespace, 120)
    assert node not in flights.nodes_of(namespace).values()
    assert of_second_epoch(namespace)
    judge(namespace, 300)


def test_with_no_room_the_drain_ends_and_rows_wait(namespace: str) -> None:
    flights.start(namespace, hours=40, speed=0.5)
    nodes = flights.nodes_of(namespace)
    node = next(iter(nodes.values()))
    for other in WORKERS:
        if other != node:
            kubectl("cordon", other)
    drain(node)
    gone = [pod for pod, where in nodes.items() if where == node]
    assert gone
    for worker in WORKERS:
        kubectl("uncordon", worker)
    wait_until(240, "every fragment runs again", lambda: node_count(namespace) >= len(nodes), every=2)
    flights.wait_ready(namespace, 240)
    judge(namespace, 300)


def of_second_epoch(namespace: str) -> list[str]:
    """Drivers that were started for a move."""
    return [name for name in flights.nodes_of(namespace) if name.endswith("-e2")]


def node_count(namespace: str) -> int:
    """Drivers that have a node."""
    return sum(bool(node) for node in flights.nodes_of(namespace).values())
