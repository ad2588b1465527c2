"""The API server is away for five minutes under load: whoever works goes on working, and nothing is moved."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.e2e import flights, operators
from tests.e2e.conftest import ensure_installed, fresh_namespace
from tests.e2e.faults import without_api_server
from tests.e2e.kubectl import get, wait_until
from tests.e2e.reference import judge_so_far

OUTAGE = 300.0  # [s]
HOURS, SPEED = 700, 0.2
AFTERWARDS = 120.0  # [s] in which what an outage starts would show: longer than any grace of the operator


@pytest.fixture
def running(release: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """The flights under leases that the outage outlasts."""
    ensure_installed()
    with fresh_namespace(request.session) as namespace:
        flights.start(namespace, HOURS, SPEED)
        yield namespace


def restarts(namespace: str) -> dict[str, int]:
    """Of every pod of the namespace."""
    return {
        p["metadata"]["name"]: flights.restarts(namespace, p["metadata"]["name"])
        for p in get("pods", "-n", namespace)
    }


def test_nobody_restarts_and_nothing_moves(running: str) -> None:
    wait_until(240, "no move is under way", lambda: not flights.moving(running))
    before = (flights.uids(running), restarts(running), flights.nodes_of(running))
    plans, replicas = (
        flights.revisions(running),
        {pod: operators.restarts(pod) for pod in operators.replicas()},
    )
    with without_api_server():
        time.sleep(OUTAGE)  # the outage is what is tested: there is no condition to wait for
    wait_until(120, "one leads again", operators.leader)
    deadline = time.monotonic() + AFTERWARDS
    while time.monotonic() < deadline:
        assert (flights.uids(running), restarts(running), flights.nodes_of(running)) == before
        assert flights.revisions(running) == plans
        time.sleep(5)
    assert {pod: operators.restarts(pod) for pod in operators.replicas()} == replicas
    flights.wait_ready(running, 120)
    judge_so_far(running, 300)
