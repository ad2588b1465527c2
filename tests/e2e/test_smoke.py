"""The shortest proof: installed by Helm, flights where planned, right to the row, and gone again."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, SHARED, uninstall
from tests.e2e.kubectl import apply, get, kubectl, wait_until
from tests.e2e.reference import audit, expected, wait_delivered

HOURS, SPEED = 40, 0.5  # 80 seconds of about 230 departures, 225 arrivals and 12 observations a second


def test_flights_are_right_to_the_row_though_a_driver_is_killed_and_leave_nothing(namespace: str) -> None:
    objects = flights.manifests(namespace, HOURS, SPEED)
    replay = [o for o in objects if o["kind"] == "Job"]
    apply([o for o in objects if o["kind"] != "Job"])
    kubectl("wait", "-n", namespace, "--for=condition=Available", "deployment/kafka", "--timeout=120s")
    apply(replay)

    flights.wait_ready(namespace, 180)
    assert not flights.off_their_pin(namespace)
    assert flights.drivers(namespace)

    victim = flights.drivers(namespace)[0]["metadata"]["name"]
    flights.kill_driver(namespace, victim)
    wait_until(120, f"{victim} runs again", lambda: flights.restarted_and_ready(namespace, victim))

    flights.wait_replayed(namespace, 300)
    want = expected(namespace)
    assert all(rows.total() > 0 for rows in want.values())
    wait_delivered(namespace, want, 180)
    for query, found in audit(namespace, want).items():
        assert found.clean, f"{query}: {found}"
    assert not flights.off_their_pin(namespace)

    files = [
        f for what in ("exchange", "checkpoints") for f in (SHARED / namespace / what / namespace).iterdir()
    ]
    assert files
    uninstall()
    assert_nothing_is_left(namespace)
    assert not any(f.exists() for f in files)


def assert_nothing_is_left(namespace: str) -> None:
    """No object of the operator, of its queries, or of the chart."""
    labelled = ["-A", "-l", "app.kubernetes.io/managed-by in (weir, Helm)"]
    kinds = (
        "pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,leases,persistentvolumeclaims"
    )
    assert get(kinds + ",poddisruptionbudgets", *labelled) == []
    assert get("leases", "-n", namespace) == []
    assert get("clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/instance=weir") == []
    assert get("namespace", OPERATOR_NAMESPACE) == []
    assert not [k for k in get("customresourcedefinitions") if k["spec"]["group"] == "weir.dev"]
