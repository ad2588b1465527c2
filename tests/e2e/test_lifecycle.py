"""A query is edited, suspended, resumed and deleted; the others do not notice, and nothing stays."""

from __future__ import annotations

import json

from tests.e2e import flights
from tests.e2e.conftest import SHARED
from tests.e2e.kubectl import condition, get, kubectl, wait_until
from tests.e2e.reference import judge

LEFT = "pods,leases,poddisruptionbudgets,serviceaccounts,roles,rolebindings"


def patch(namespace: str, query: str, spec: dict[str, object]) -> None:
    text = json.dumps({"spec": spec})
    kubectl("patch", "wsq", query, "-n", namespace, "--type=merge", "-p", text)


def of_query(namespace: str, query: str) -> list[str]:
    """Names of the objects that the operator made for a query."""
    return [
        f"{o['kind']}/{o['metadata']['name']}"
        for o in get(LEFT, "-n", namespace, "-l", f"weir.dev/query={query}")
    ]


def ready_reason(namespace: str, query: str) -> str:
    """Reason of Ready, for the object's present generation."""
    (found,) = get("wsq", query, "-n", namespace)
    ready = condition(found, "Ready")
    same = ready.get("observedGeneration") == found["metadata"]["generation"]
    return ready.get("reason", "") if same and ready.get("status") == "True" else ""


def test_edit_suspend_resume_delete(namespace: str) -> None:
    flights.start(namespace, hours=60, speed=0.5)
    others = {
        p["metadata"]["name"]: p["metadata"]["uid"]
        for p in flights.drivers(namespace)
        if not p["metadata"]["name"].startswith("by-carrier")
    }

    (query,) = get("wsq", "by-carrier", "-n", namespace)
    sql, was = query["spec"]["sql"], of_query(namespace, "by-carrier")
    patch(namespace, "by-carrier", {"sql": sql.replace("GROUP BY", "WHERE d.month < 20 GROUP BY")})
    wait_until(120, "other fragments", lambda: not set(of_query(namespace, "by-carrier")) & set(was))
    patch(namespace, "by-carrier", {"sql": sql})
    wait_until(150, "back again", lambda: ready_reason(namespace, "by-carrier") == "Running", every=1)

    patch(namespace, "by-carrier", {"suspend": True})
    wait_until(60, "suspended", lambda: ready_reason(namespace, "by-carrier") == "Suspended", every=1)
    pods = ["pods", "-n", namespace, "-l", "weir.dev/query=by-carrier"]
    wait_until(90, "its pods are gone", lambda: not get(*pods), every=1)
    patch(namespace, "by-carrier", {"suspend": None})
    wait_until(150, "resumed", lambda: ready_reason(namespace, "by-carrier") == "Running", every=1)

    judge(namespace, 300)
    now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in flights.drivers(namespace)}
    assert others.items() <= now.items()  # the same pods as at the beginning

    folders = [SHARED / namespace / what / namespace for what in ("exchange", "checkpoints", "late")]
    for query_name in flights.QUERIES:
        kubectl("delete", "wsq", query_name, "-n", namespace)
    wait_until(
        120,
        "nothing of the queries is left",
        lambda: (
            not get(LEFT, "-n", namespace, "-l", "app.kubernetes.io/managed-by=weir")
            and not any(list(f.iterdir()) for f in folders if f.exists())
        ),
        every=1,
    )
    assert not get("wpl", "-n", namespace)
