"""The shortest proof: installed by Helm, flights where planned, right to the row, and gone again."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.conftest import OPERATOR_NAMESPACE, SHARED, uninstall
from tests.e2e.kubectl import get, kubectl, wait_until
from tests.e2e.reference import judge

HOURS, SPEED = 40, 0.5  # 80 seconds of about 230 departures, 225 arrivals and 12 observations a second


def test_flights_are_right_to_the_row_though_a_process_is_killed_and_leave_nothing(
    isolation: str, namespace: str
) -> None:
    objects = flights.manifests(namespace, HOURS, SPEED)
    flights.policy_of(objects)["spec"] |= {"fragments": {"isolation": isolation}}
    flights.run(namespace, objects)
    assert bool(flights.drivers(namespace)) == (isolation == "Dedicated")
    kubectl("wait", "-n", namespace, "--for=condition=Ready", "streamquery", "--all", "--timeout=60s")
    planned = set(flights.events(namespace, "Planned"))
    assert planned >= {(query, "revision 1: first plan") for query in flights.QUERIES}

    victim = flights.workers(namespace)[0]["metadata"]["name"]
    flights.kill(namespace, victim)
    wait_until(300, f"{victim} runs again", lambda: flights.restarted_and_ready(namespace, victim))

    judge(namespace, 300)
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
    of_the_cluster = (
        "clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,"
        "validatingwebhookconfigurations"
    )
    assert get(of_the_cluster, "-l", "app.kubernetes.io/instance=weir") == []
    assert get("namespace", OPERATOR_NAMESPACE) == []
    assert not [k for k in get("customresourcedefinitions") if k["spec"]["group"] == "weir.dev"]
