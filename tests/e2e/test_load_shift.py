"""The load rises: what pays to be moved is moved, nothing else, and every row arrives once."""

from __future__ import annotations

import json

from tests.e2e import flights
from tests.e2e.kubectl import get, kubectl, wait_until
from tests.e2e.reference import judge


def thin_line() -> None:
    """The line from New York to the west carries what crosses it in a quiet hour, and not four times that."""
    (topology,) = get("networktopology", "flights")
    links = topology["spec"]["links"]
    for link in links:
        if (link["from"], link["to"]) == ("newyork", "west"):
            link["bandwidth"] = "100k"
    text = json.dumps({"spec": {"links": links}})
    kubectl("patch", "networktopology", "flights", "--type=merge", "-p", text)


def test_only_fragments_whose_plan_changed_move(namespace: str) -> None:
    flights.start(namespace, 140, 0.25, "--surge-after", "150", "--surge", "4")
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
