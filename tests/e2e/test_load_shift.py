"""The load rises, as Prometheus tells it: what pays to be moved is moved, nothing else, and every row arrives
once."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e import flights, prometheus
from tests.e2e.conftest import install
from tests.e2e.kubectl import apply, get, kubectl, wait_until
from tests.e2e.reference import judge


@pytest.fixture
def measured(namespace: str) -> Iterator[str]:
    """A namespace with a Prometheus, from which alone the operator knows what the fragments do."""
    apply(prometheus.manifests(namespace))
    install(f"prometheus.url={prometheus.url(namespace)}")
    kubectl("rollout", "status", "deployment/prometheus", "-n", namespace, "--timeout=120s")
    yield namespace
    install()


def thin_line() -> None:
    """The line from New York to the west carries what crosses it in a quiet hour, and not four times that."""
    (topology,) = get("networktopology", "flights")
    links = topology["spec"]["links"]
    for link in links:
        if (link["from"], link["to"]) == ("newyork", "west"):
            link["bandwidth"] = "100k"
    text = json.dumps({"spec": {"links": links}})
    kubectl("patch", "networktopology", "flights", "--type=merge", "-p", text)


def test_only_fragments_whose_plan_changed_move(measured: str) -> None:
    namespace = measured
    flights.start(namespace, 125, 0.25, "--surge-after", "90", "--surge", "4")
    fragments = {p["metadata"]["annotations"]["weir.dev/fragment"] for p in flights.drivers(namespace)}
    wait_until(
        60,
        "every driver is scraped",
        lambda: prometheus.labels_of(namespace, "weir_epoch", "fragment") >= fragments,
    )
    thin_line()
    pods = flights.uids(namespace)
    first = flights.revisions(namespace)

    changed = wait_until(
        360, "a better plan", lambda: {q for q, r in flights.revisions(namespace).items() if r > first[q]}
    )
    flights.wait_ready(namespace, 240)
    judge(namespace, 400)
    now = flights.uids(namespace)
    changed |= {q for q, r in flights.revisions(namespace).items() if r > first[q]}
    assert not flights.off_their_pin(namespace)
    assert now != pods
    for name, uid in pods.items():
        if not name.startswith(tuple(changed)):
            assert now[name] == uid, f"{name} was restarted, though its plan is the same"
