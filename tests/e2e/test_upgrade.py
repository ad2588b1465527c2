"""helm upgrade while queries run: a new runtime image rolls through warm moves, nothing else restarts."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.conftest import install, load_as
from tests.e2e.kubectl import get, kubectl, wait_until
from tests.e2e.reference import judge


def images(namespace: str) -> set[str]:
    """Images of the drivers that are not on their way out."""
    return {pod["spec"]["containers"][0]["image"] for pod in flights.drivers(namespace)}


def test_a_new_runtime_image_rolls_and_an_unchanged_one_restarts_nothing(
    namespace: str, operator: str
) -> None:
    load_as("weir-runtime", "next")
    flights.start(namespace, hours=120, speed=0.5)
    before = {p["metadata"]["name"]: p["metadata"]["uid"] for p in flights.drivers(namespace)}

    install("podLabels.round=two")  # other operator pods, the same runtime
    kubectl("rollout", "status", "deployment/weir", "-n", operator, "--timeout=120s")
    flights.wait_ready(namespace, 60)
    now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in flights.drivers(namespace)}
    assert now == before

    install("podLabels.round=three", "image.runtime.tag=next")
    wait_until(
        600, "every driver runs the new image", lambda: images(namespace) == {"weir-runtime:next"}, every=2
    )
    flights.wait_ready(namespace, 120)
    assert all(name.endswith("-e2") for name in flights.nodes_of(namespace))
    assert not flights.off_their_pin(namespace)
    moved = [e for e in get("events.v1.events.k8s.io", "-n", namespace) if e["reason"] == "FragmentFailed"]
    assert not moved
    judge(namespace, 400)
