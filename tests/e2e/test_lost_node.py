"""A worker stops answering and comes back: its fragments ran elsewhere, and no row is there twice."""

from __future__ import annotations

import subprocess

import pytest

from tests.e2e import flights
from tests.e2e.kubectl import CLUSTER, ENVIRONMENT, condition, get, wait_until
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


def test_a_frozen_worker_is_left_and_its_return_changes_nothing(namespace: str, frozen) -> None:  # type: ignore[no-untyped-def]
    flights.start(namespace, hours=120, speed=0.5)
    before = flights.nodes_of(namespace)
    node = next(n for n in before.values() if n != f"{CLUSTER}-control-plane")
    frozen(node)

    def elsewhere() -> bool:
        running = [
            p for p in flights.drivers(namespace)
            if condition(p, "Ready").get("status") == "True" and p["spec"]["nodeName"] != node
        ]  # fmt: skip
        return len({p["metadata"]["labels"]["weir.dev/fragment"] for p in running}) == len(before)

    wait_until(300, f"every fragment runs without {node}", elsewhere, every=2)
    docker("unpause", node)
    wait_until(
        120, f"{node} is back", lambda: condition(get("node", node)[0], "Ready").get("status") == "True"
    )
    flights.wait_ready(namespace, 180)
    judge(namespace, 400)
