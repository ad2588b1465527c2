"""A policy's new image that cannot be pulled is taken back by itself, under a query that works on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e import flights
from tests.e2e.conftest import claim_of
from tests.e2e.kubectl import Manifest, apply, condition, get, kubectl, wait_until
from tests.e2e.test_bad_manifests import STREAM
from tests.e2e.test_stuck import GONE, IN_A_MOMENT, policy, query

DEADLINE = 60.0  # [s]


def with_deadline(name: str, **template: str) -> Manifest:
    manifest = policy(name, **template)
    budget = {"moveBudget": {"deadline": f"{DEADLINE:g}s"}, "progressDeadline": "10m"}
    spec = {**manifest["spec"], **budget}
    if not template:
        del spec["podTemplate"]  # of a map that loses its last key the API server makes a null
    return {**manifest, "spec": spec}


@pytest.fixture
def name(namespace: str) -> Iterator[str]:
    """Of a policy of its own; gone at the end, with the queries."""
    name = f"{namespace}-rollout"
    apply(
        [
            claim_of(namespace),
            with_deadline(name),
            {**STREAM, "metadata": {"name": "a", "namespace": namespace}},
        ]
    )
    yield name
    kubectl("delete", "wsq", "--all", "-n", namespace)
    kubectl("delete", "placementpolicies", name)


def holds(namespace: str, kind: str) -> bool:
    (present,) = get("streamquery", "q", "-n", namespace)
    return condition(present, kind).get("status") == "True"


def test_an_image_that_cannot_be_pulled_is_taken_back(namespace: str, name: str) -> None:
    apply([query(namespace, "q", name)])
    flights.wait_ready(namespace, IN_A_MOMENT, ("q",))
    before, images = flights.uids(namespace), flights.images(namespace)
    apply([with_deadline(name, image=GONE)])
    wait_until(60, "a successor with the new image", lambda: GONE in flights.images(namespace))
    wait_until(DEADLINE + 60, "the image is taken back", lambda: holds(namespace, "ImageRefused"))
    wait_until(60, "the successor is gone", lambda: flights.images(namespace) == images)
    assert flights.uids(namespace) == before
    assert holds(namespace, "Ready")
    ((_, message),) = flights.events(namespace, "ImageRefused")
    assert message.startswith(f"image {GONE} was taken back, ")
    assert "has not started with it within 60 s" in message

    apply([with_deadline(name)])
    wait_until(60, "there is nothing left to say", lambda: not holds(namespace, "ImageRefused"))
    assert flights.uids(namespace) == before
