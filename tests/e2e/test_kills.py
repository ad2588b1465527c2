"""SIGKILL of whatever takes part, while rows flow: the results stay right to the row."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.kubectl import get, wait_until
from tests.e2e.reference import judge

OPERATORS = ("-l", "app.kubernetes.io/name=weir-operator")


def test_operator_driver_and_broker_are_killed(namespace: str, operator: str) -> None:
    flights.start(namespace, hours=60, speed=0.5)
    before = flights.nodes_of(namespace)

    for pod in get("pods", "-n", operator, *OPERATORS):
        flights.kill(operator, pod["metadata"]["name"])
    (broker,) = get("pods", "-n", namespace, "-l", "app=kafka")
    flights.kill(namespace, broker["metadata"]["name"])
    wait_until(
        90,
        "the broker is back",
        lambda: flights.restarted_and_ready(namespace, broker["metadata"]["name"]),
    )
    for pod in before:
        flights.kill(namespace, pod)

    flights.wait_ready(namespace, 240)
    judge(namespace, 300)
    # whoever comes back goes on with what is there: no query was moved or made anew
    assert flights.nodes_of(namespace) == before
    for pod in get("pods", "-n", operator, *OPERATORS):
        assert flights.restarts(operator, pod["metadata"]["name"]) >= 1
