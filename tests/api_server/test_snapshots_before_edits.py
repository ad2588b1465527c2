"""An edit of a query that asks for a snapshot before each waits for it, and the query runs as before."""

from __future__ import annotations

from weir_runtime.snapshots.job import CANNOT

from tests.api_server.scene import SQL
from tests.api_server.town import Town

EDITED = SQL.replace("k > 1", "k > 2")
ASKS = {"snapshots": {"beforeEdit": True}}


def made(town: Town) -> list[str]:
    snapshots = town.scene.world.admin.list("QuerySnapshot", town.scene.world.namespace)
    return sorted(o["metadata"]["name"] for o in snapshots)


def revision(town: Town) -> int:
    return int(town.scene.of("Placement")["spec"]["revision"])


def test_the_edit_comes_into_force_when_the_snapshot_is_whole(town: Town) -> None:
    town.scene.ask(SQL, **ASKS)
    town.until(town.scene.ready)
    assert made(town) == [], "no row depends on that field"
    pods = town.scene.pods()
    town.scene.ask(EDITED, **ASKS)
    for _ in range(3):
        town.scene.loop.once()
    (name,) = made(town)
    assert name.startswith("q-before-")
    assert town.scene.condition("Reconciling", "reason") == "TakingSnapshot"
    assert f"{name}; until then the query runs as before" in town.scene.condition("Reconciling", "message")
    assert town.scene.condition("Ready") == "True"
    assert revision(town) == 1
    assert town.scene.pods() == pods

    town.until(lambda: town.complete(name))
    town.until(lambda: revision(town) == 2)
    content = town.scene.of("QuerySnapshot", name)["status"]["content"]
    assert content["about"]["placement"]["revision"] == 1
    town.until(lambda: town.scene.condition("Reconciling") != "True")
    assert made(town) == [name], "once"

    # and the edit back has one of its own
    town.scene.until(town.scene.ready)
    town.scene.ask(SQL, **ASKS)
    town.until(lambda: len(made(town)) == 2)


def test_an_operator_that_is_killed_meanwhile_goes_on(town: Town) -> None:
    town.scene.ask(SQL, **ASKS)
    town.until(town.scene.ready)
    town.scene.ask(EDITED, **ASKS)

    def in_force() -> bool:
        town.scene.start_operator()
        return revision(town) == 2

    town.until(in_force)
    assert town.pods.done == ["take"]


def test_a_snapshot_that_fails_holds_the_edit_and_says_what_to_do(town: Town) -> None:
    asks = {"snapshots": {"beforeEdit": True, "place": {"claim": "backups"}}}
    town.scene.ask(SQL, **asks)
    town.until(town.scene.ready)
    town.scene.ask(EDITED, **asks)
    town.scene.loop.once()
    town.scene.loop.once()
    town.pods.end(f"snapshot.{made(town)[0]}", "Failed", CANNOT, "there is no room")
    town.until(lambda: town.scene.condition("Stalled", "reason") == "SnapshotFailed")
    assert "there is no room; delete it to try again" in town.scene.condition("Stalled", "message")
    assert town.scene.condition("Ready") == "True", "it runs as before"
    assert "SnapshotFailed" in town.scene.events()
    assert revision(town) == 1
    town.scene.ask(EDITED)
    town.until(lambda: revision(town) == 2)
