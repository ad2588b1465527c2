"""An edit of a query that asks for a snapshot before each waits for it, and the query runs as before."""

from __future__ import annotations

from weir_runtime.snapshots.job import CANNOT

from tests.api_server.scene import SQL
from tests.api_server.snapshot_scenario import SnapshotScenario

EDITED = SQL.replace("k > 1", "k > 2")
ASKS = {"snapshots": {"beforeEdit": True}}


def made(scenario: SnapshotScenario) -> list[str]:
    snapshots = scenario.scene.target.admin.list("QuerySnapshot", scenario.scene.target.namespace)
    return sorted(o["metadata"]["name"] for o in snapshots)


def revision(scenario: SnapshotScenario) -> int:
    return int(scenario.scene.of("Placement")["spec"]["revision"])


def test_the_edit_comes_into_force_when_the_snapshot_is_whole(scenario: SnapshotScenario) -> None:
    scenario.scene.ask(SQL, **ASKS)
    scenario.until(scenario.scene.ready)
    assert made(scenario) == [], "no row depends on that field"
    pods = scenario.scene.pods()
    scenario.scene.ask(EDITED, **ASKS)
    for _ in range(3):
        scenario.scene.loop.once()
    (name,) = made(scenario)
    assert name.startswith("q-before-")
    assert scenario.scene.condition("Reconciling", "reason") == "TakingSnapshot"
    assert f"{name}; until then the query runs as before" in scenario.scene.condition(
        "Reconciling", "message"
    )
    assert scenario.scene.condition("Ready") == "True"
    assert revision(scenario) == 1
    assert scenario.scene.pods() == pods

    scenario.until(lambda: scenario.complete(name))
    scenario.until(lambda: revision(scenario) == 2)
    content = scenario.scene.of("QuerySnapshot", name)["status"]["content"]
    assert content["about"]["placement"]["revision"] == 1
    scenario.until(lambda: scenario.scene.condition("Reconciling") != "True")
    assert made(scenario) == [name], "once"

    # and the edit back has one of its own
    scenario.scene.until(scenario.scene.ready)
    scenario.scene.ask(SQL, **ASKS)
    scenario.until(lambda: len(made(scenario)) == 2)


def test_an_operator_that_is_killed_meanwhile_goes_on(scenario: SnapshotScenario) -> None:
    scenario.scene.ask(SQL, **ASKS)
    scenario.until(scenario.scene.ready)
    scenario.scene.ask(EDITED, **ASKS)

    def in_force() -> bool:
        scenario.scene.start_operator()
        return revision(scenario) == 2

    scenario.until(in_force)
    assert scenario.pods.done == ["take"]


def test_a_snapshot_that_fails_holds_the_edit_and_says_what_to_do(scenario: SnapshotScenario) -> None:
    asks = {"snapshots": {"beforeEdit": True, "place": {"claim": "backups"}}}
    scenario.scene.ask(SQL, **asks)
    scenario.until(scenario.scene.ready)
    scenario.scene.ask(EDITED, **asks)
    scenario.scene.loop.once()
    scenario.scene.loop.once()
    scenario.pods.end(f"snapshot.{made(scenario)[0]}", "Failed", CANNOT, "there is no room")
    scenario.until(lambda: scenario.scene.condition("Stalled", "reason") == "SnapshotFailed")
    assert "there is no room; delete it to try again" in scenario.scene.condition("Stalled", "message")
    assert scenario.scene.condition("Ready") == "True", "it runs as before"
    assert "SnapshotFailed" in scenario.scene.events()
    assert revision(scenario) == 1
    scenario.scene.ask(EDITED)
    scenario.until(lambda: revision(scenario) == 2)
