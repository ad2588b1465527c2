"""QuerySnapshots: taken by a pod of the operator, kept for a time, read where they lie, and begun from."""

from __future__ import annotations

from tests.api_server.scene import SQL
from tests.api_server.town import Town

FROM = {"restoreFrom": {"snapshot": {"name": "s1"}}}


def test_it_is_taken_once_and_says_of_what(town: Town) -> None:
    town.ask()
    town.until(town.complete)
    status = town.scene.of("QuerySnapshot", "s1")["status"]
    assert status["query"] == f"{town.scene.world.namespace}/q"
    assert status["content"]["files"] > 3
    assert status["size"].endswith("B")
    assert status["observedGeneration"] == 1
    assert "SnapshotComplete" in town.scene.events()
    town.until(lambda: not town.snapshot_pods())
    before = town.scene.of("QuerySnapshot", "s1")
    for _ in range(3):
        town.scene.loop.once()
    assert town.scene.of("QuerySnapshot", "s1") == before, "nothing is written"
    assert town.pods.done == ["take"]
    assert town.scene.ready(), "the query goes on"


def test_an_operator_that_is_killed_at_any_round_goes_on(town: Town) -> None:
    town.ask()

    def another() -> bool:
        town.scene.start_operator()
        return town.complete()

    town.until(another)
    assert town.pods.done == ["take"]


def test_what_it_cannot_do_is_said_by_field_and_not_tried_again(town: Town) -> None:
    town.ask("s2", query="other")
    town.until(lambda: town.says("Stalled", "reason", "s2") == "NotFound")
    assert "spec.query: 'other': no StreamQuery of this name" in town.says("Stalled", "message", "s2")
    town.ask("s1", existing={"namespace": "far", "name": "none"})
    town.until(lambda: town.says("Stalled", "reason") == "SnapshotFailed")
    assert "manifest.json is missing" in town.says("Stalled", "message")
    assert "SnapshotFailed" in town.scene.events()
    for _ in range(3):
        town.scene.loop.once()
    pods = town.snapshot_pods()
    town.ask("s1", existing={"namespace": town.scene.world.namespace, "name": "s3"})
    town.ask("s3", query="q")
    town.until(lambda: town.complete("s3"))
    assert pods == {"snapshot.s1"}


def test_a_pod_that_is_evicted_is_made_again(town: Town) -> None:
    town.ask()
    town.scene.loop.once()
    assert town.snapshot_pods() == {"snapshot.s1"}
    town.pods.end("snapshot.s1", "Failed", 137, "evicted")
    town.scene.cluster._snapshots._clock = lambda: 4e9
    town.until(town.complete)


def test_its_time_is_over(town: Town) -> None:
    town.ask(query="q", keepFor="0s")
    town.until(lambda: not town.scene.of("QuerySnapshot", "s1"))
    assert town.pods.done == ["take", "remove"]
    assert not list(town.pods.volume.glob("snapshots/*/*"))


def test_a_query_begins_from_it_also_from_where_it_lies(town: Town) -> None:
    town.ask()
    town.until(town.complete)
    first = town.pods.checkpoints()
    town.scene.world.admin.delete("QuerySnapshot", town.scene.world.namespace, "s1")
    town.scene.ask(SQL, deletionPolicy="Delete")
    town.scene.loop.once()
    town.scene.world.admin.delete("StreamQuery", town.scene.world.namespace, "q")
    town.until(lambda: not town.scene.pods() and not town.scene.of("Placement"))
    town.ask("s2", existing={"namespace": town.scene.world.namespace, "name": "s1"})
    snapshot = {"restoreFrom": {"snapshot": {"name": "s2"}}}
    town.scene.ask(SQL, **snapshot)
    town.until(town.scene.ready)
    assert town.pods.done == ["take", "read", "restore"]
    running = {town.scene.fragment(pod) for pod in town.scene.pods()}
    assert running == town.pods.checkpoints() - first
    town.until(lambda: not town.snapshot_pods())


def test_what_is_damaged_is_refused_and_begins_when_it_is_mended(town: Town) -> None:
    town.ask()
    town.until(town.complete)
    town.scene.world.admin.delete("StreamQuery", town.scene.world.namespace, "q")
    town.until(lambda: not town.scene.pods())
    (file,) = town.pods.volume.glob("snapshots/*/s1/fragments/0/checkpoint/offsets/0")
    good = file.read_text()
    file.write_text(good + " ")
    town.scene.ask(SQL, **FROM)
    town.until(lambda: "offsets/0 is damaged" in town.scene.why())
    assert not town.scene.pods()
    file.write_text(good)
    town.scene.cluster._snapshots._clock = lambda: 4e9
    town.until(town.scene.ready)


def test_nobody_begins_from_a_snapshot_of_another_namespace(town: Town) -> None:
    town.ask()
    town.until(town.complete)
    town.scene.write("StreamQuery", "p", {
        "sql": SQL, "sink": {"noop": {}},
        "restoreFrom": {"snapshot": {"name": "s1", "namespace": "theirs"}},
    })  # fmt: skip

    def message() -> str:
        conditions = town.scene.of("StreamQuery", "p").get("status", {}).get("conditions", ())
        return next((str(c["message"]) for c in conditions if c["type"] == "Stalled"), "")

    town.until(message)
    assert "spec.restoreFrom.snapshot.namespace: 'theirs'" in message()
