"""A query that works in executors: pods of Spark's own beside their driver, replaced when they die."""

from __future__ import annotations

from tests.e2e import flights
from tests.e2e.kubectl import Manifest, get, kubectl, wait_until
from tests.e2e.reference import judge

QUERY = "delayed-weather"


def executors(namespace: str) -> list[Manifest]:
    """Those that run and are not on their way out."""
    pods = get("pods", "-n", namespace, "-l", "weir.dev/role=executor")
    return [
        p for p in pods if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]
    ]


def lives_of_drivers(namespace: str) -> dict[str, int]:
    """How often each driver, by its uid, was started again."""
    pods = flights.drivers(namespace)
    return {p["metadata"]["uid"]: flights.restarts(namespace, p["metadata"]["name"]) for p in pods}


def test_an_executor_is_killed_while_rows_flow(namespace: str) -> None:
    objects = flights.only(flights.manifests(namespace, hours=60, speed=0.5), (QUERY,))
    (query,) = [o for o in objects if o["kind"] == "StreamQuery"]
    query["spec"]["resources"] = {"executors": 1}
    flights.run(namespace, objects, (QUERY,))

    planned = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in flights.drivers(namespace)}
    workers = executors(namespace)
    owners = [pod["metadata"]["ownerReferences"][0]["uid"] for pod in workers]
    assert sorted(owners) == sorted(planned), "one for each driver"
    for pod, owner in zip(workers, owners, strict=True):
        assert pod["spec"]["nodeName"] == planned[owner], "beside its driver"
        assert pod["spec"]["automountServiceAccountToken"] is False

    before = {pod["metadata"]["name"] for pod in workers}
    lives = lives_of_drivers(namespace)
    for name in before:
        flights.kill(namespace, name)
    wait_until(
        120,
        "others in their place",
        lambda: (
            len(pods := executors(namespace)) == len(before)
            and not before & {pod["metadata"]["name"] for pod in pods}
        ),
    )
    judge(namespace, 300, (QUERY,))
    assert lives_of_drivers(namespace) == lives, "no driver was moved or started again"

    kubectl("delete", "streamquery", QUERY, "-n", namespace, "--wait=false")
    wait_until(
        120,
        "drivers and executors are gone",
        lambda: not get("pods", "-n", namespace, "-l", "weir.dev/role in (driver,executor)"),
    )
