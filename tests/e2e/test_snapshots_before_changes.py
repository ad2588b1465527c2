"""A query that asks for it is copied before an edit and before another runtime image: nothing of either
begins until the copy is whole, and every row is audited after each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.e2e import flights
from tests.e2e.conftest import ensure_installed, fresh_namespace
from tests.e2e.kubectl import REPOSITORY, Manifest, apply, condition, get, wait_until
from tests.e2e.reference import CUTS, judge_so_far
from tests.e2e.test_disturbances import cut_passed, patch

HOURS, SPEED = 700, 0.2  # rows for longer than the tests take
QUERY = "by-carrier"


@pytest.fixture(scope="module")
def objects() -> list[Manifest]:
    """Filled by `running`: what runs."""
    return []


@pytest.fixture(scope="module")
def running(objects: list[Manifest], release: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace in which one query runs as long as the tests of this file, and asks for both."""
    ensure_installed()
    with fresh_namespace(request.session) as namespace:
        objects += flights.only(flights.manifests(namespace, HOURS, SPEED), (QUERY,))
        (query,) = [o for o in objects if o["kind"] == "StreamQuery"]
        query["spec"]["snapshots"] = {"beforeEdit": True, "beforeUpgrade": True}
        flights.run(namespace, objects, (QUERY,))
        sent = flights.STREAMS
        wait_until(120, "rows of every stream", lambda: all(flights.topics(namespace, sent).values()))
        judge_so_far(namespace, 300, (QUERY,))  # there is state to copy
        yield namespace


def snapshots(namespace: str) -> list[Manifest]:
    """In the order in which they were made."""
    return sorted(get("querysnapshots", "-n", namespace), key=lambda o: o["metadata"]["creationTimestamp"])


def complete_before_new_drivers(namespace: str, snapshot: Manifest, earlier: set[str]) -> bool:
    """Whether the first driver that is not `earlier` by its uid, for which this waits, was made after the
    snapshot was whole."""
    pods = wait_until(
        240,
        "a driver of after the change",
        lambda: [p for p in flights.drivers(namespace) if p["metadata"]["uid"] not in earlier],
    )
    (now,) = get("querysnapshot", snapshot["metadata"]["name"], "-n", namespace)
    whole = condition(now, "Ready")
    assert whole.get("status") == "True", f"{[p['metadata']['name'] for p in pods]} are there already: {now}"
    return all(whole["lastTransitionTime"] <= p["metadata"]["creationTimestamp"] for p in pods)


def test_an_edit_waits_for_its_snapshot(running: str) -> None:
    assert not snapshots(running)
    earlier, (query,) = set(flights.uids(running).values()), get("wsq", QUERY, "-n", running)
    revision = flights.revisions(running)[QUERY]
    sql = query["spec"]["sql"].replace("GROUP BY", "WHERE d.dep_delay >= 15 GROUP BY")
    patch(running, QUERY, {"sql": sql})
    (snapshot,) = wait_until(60, "a snapshot is asked for", lambda: snapshots(running), every=1)
    assert snapshot["metadata"]["name"].startswith(f"{QUERY}-before-")
    assert complete_before_new_drivers(running, snapshot, earlier)
    (snapshot,) = snapshots(running)
    assert snapshot["status"]["content"]["about"]["placement"]["revision"] == revision
    CUTS[running] = [cut_passed(running, QUERY, 0)]
    flights.wait_ready(running, 240, (QUERY,))
    judge_so_far(running, 300, (QUERY,))


def test_another_image_waits_for_its_snapshot(running: str, objects: list[Manifest]) -> None:
    before, earlier = snapshots(running), set(flights.uids(running).values())
    chart = yaml.safe_load((REPOSITORY / "charts/weir/Chart.yaml").read_text())
    image = f"weir-runtime:{chart['appVersion']}"  # the same one by another name
    assert image not in flights.images(running)
    policy = flights.policy_of(objects)
    policy["spec"] |= {"podTemplate": {"image": image}}
    apply([policy])
    *_, snapshot = wait_until(
        60, "a snapshot is asked for", lambda: len(now := snapshots(running)) > len(before) and now, every=1
    )
    assert complete_before_new_drivers(running, snapshot, earlier)
    wait_until(300, "every driver runs it", lambda: flights.images(running) == {image})
    flights.wait_ready(running, 240, (QUERY,))
    assert len(snapshots(running)) == len(before) + 1, "one for all of its fragments"
    judge_so_far(running, 300, (QUERY,))
