"""QuerySnapshots: taken by a pod of the operator, kept for a time, read where they lie, and begun from."""

from __future__ import annotations

from tests.api_server.scene import SQL
from tests.api_server.snapshot_scenario import SnapshotScenario

FROM = {"restoreFrom": {"snapshot": {"name": "s1"}}}


def test_it_is_taken_once_and_says_of_what(scenario: SnapshotScenario) -> None:
    scenario.ask()
    scenario.until(scenario.complete)
    status = scenario.scene.of("QuerySnapshot", "s1")["status"]
    assert status["query"] == f"{scenario.scene.target.namespace}/q"
    assert status["content"]["files"] > 3
    assert status["size"].endswith("B")
    assert status["observedGeneration"] == 1
    assert "SnapshotComplete" in scenario.scene.events()
    scenario.until(lambda: not scenario.snapshot_pods())
    before = scenario.scene.of("QuerySnapshot", "s1")
    for _ in range(3):
        scenario.scene.loop.once()
    assert scenario.scene.of("QuerySnapshot", "s1") == before, "nothing is written"
    assert scenario.pods.done == ["take"]
    assert scenario.scene.ready(), "the query goes on"


def test_an_operator_that_is_killed_at_any_round_goes_on(scenario: SnapshotScenario) -> None:
    scenario.ask()

    def another() -> bool:
        scenario.scene.start_operator()
        return scenario.complete()

    scenario.until(another)
    assert scenario.pods.done == ["take"]


def test_what_it_cannot_do_is_said_by_field_and_not_tried_again(scenario: SnapshotScenario) -> None:
    scenario.ask("s2", query="other")
    scenario.until(lambda: scenario.says("Stalled", "reason", "s2") == "NotFound")
    assert "spec.query: 'other': no StreamQuery of this name" in scenario.says("Stalled", "message", "s2")
    scenario.ask("s1", existing={"namespace": "far", "name": "none"})
    scenario.until(lambda: scenario.says("Stalled", "reason") == "SnapshotFailed")
    assert "manifest.json is missing" in scenario.says("Stalled", "message")
    assert "SnapshotFailed" in scenario.scene.events()
    for _ in range(3):
        scenario.scene.loop.once()
    pods = scenario.snapshot_pods()
    scenario.ask("s1", existing={"namespace": scenario.scene.target.namespace, "name": "s3"})
    scenario.ask("s3", query="q")
    scenario.until(lambda: scenario.complete("s3"))
    assert pods == {"snapshot.s1"}


def test_a_pod_that_is_evicted_is_made_again(scenario: SnapshotScenario) -> None:
    scenario.ask()
    scenario.scene.loop.once()
    assert scenario.snapshot_pods() == {"snapshot.s1"}
    scenario.pods.end("snapshot.s1", "Failed", 137, "evicted")
    scenario.scene.cluster._snapshots._clock = lambda: 4e9
    scenario.until(scenario.complete)


def test_its_time_is_over(scenario: SnapshotScenario) -> None:
    scenario.ask(query="q", keepFor="0s")
    scenario.until(lambda: not scenario.scene.of("QuerySnapshot", "s1"))
    assert scenario.pods.done == ["take", "remove"]
    assert not list(scenario.pods.volume.glob("snapshots/*/*"))


def test_a_query_begins_from_it_also_from_where_it_lies(scenario: SnapshotScenario) -> None:
    scenario.ask()
    scenario.until(scenario.complete)
    first = scenario.pods.checkpoints()
    scenario.scene.target.admin.delete("QuerySnapshot", scenario.scene.target.namespace, "s1")
    scenario.scene.ask(SQL, deletionPolicy="Delete")
    scenario.scene.loop.once()
    scenario.scene.target.admin.delete("StreamQuery", scenario.scene.target.namespace, "q")
    scenario.until(lambda: not scenario.scene.pods() and not scenario.scene.of("Placement"))
    scenario.ask("s2", existing={"namespace": scenario.scene.target.namespace, "name": "s1"})
    snapshot = {"restoreFrom": {"snapshot": {"name": "s2"}}}
    scenario.scene.ask(SQL, **snapshot)
    scenario.until(scenario.scene.ready)
    assert scenario.pods.done == ["take", "read", "restore"]
    running = {scenario.scene.fragment(pod) for pod in scenario.scene.pods()}
    assert running == scenario.pods.checkpoints() - first
    scenario.until(lambda: not scenario.snapshot_pods())


def test_what_is_damaged_is_refused_and_begins_when_it_is_mended(scenario: SnapshotScenario) -> None:
    scenario.ask()
    scenario.until(scenario.complete)
    scenario.scene.target.admin.delete("StreamQuery", scenario.scene.target.namespace, "q")
    scenario.until(lambda: not scenario.scene.pods())
    (file,) = scenario.pods.volume.glob("snapshots/*/s1/fragments/0/checkpoint/offsets/0")
    good = file.read_text()
    file.write_text(good + " ")
    scenario.scene.ask(SQL, **FROM)
    scenario.until(lambda: "offsets/0 is damaged" in scenario.scene.why())
    assert not scenario.scene.pods()
    file.write_text(good)
    scenario.scene.cluster._snapshots._clock = lambda: 4e9
    scenario.until(scenario.scene.ready)


def test_nobody_begins_from_a_snapshot_of_another_namespace(scenario: SnapshotScenario) -> None:
    scenario.ask()
    scenario.until(scenario.complete)
    scenario.scene.write("StreamQuery", "p", {
        "sql": SQL, "sink": {"noop": {}},
        "restoreFrom": {"snapshot": {"name": "s1", "namespace": "theirs"}},
    })  # fmt: skip

    def message() -> str:
        conditions = scenario.scene.of("StreamQuery", "p").get("status", {}).get("conditions", ())
        return next((str(c["message"]) for c in conditions if c["type"] == "Stalled"), "")

    scenario.until(message)
    assert "spec.restoreFrom.snapshot.namespace: 'theirs'" in message()
