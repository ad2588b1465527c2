"""A query that asks for a snapshot before each new runtime image keeps its own until that is taken."""

from __future__ import annotations

from weir_operator.kube import names
from weir_runtime.snapshots.job import CANNOT

from tests.api_server.scene import QUICK, SQL
from tests.api_server.snapshot_scenario import SnapshotScenario

OLD, NEW = "weir-runtime:dev", "weir-runtime:next"
ASKS = {"snapshots": {"beforeUpgrade": True}}


def made(scenario: SnapshotScenario) -> list[str]:
    snapshots = scenario.scene.target.admin.list("QuerySnapshot", scenario.scene.target.namespace)
    return sorted(o["metadata"]["name"] for o in snapshots)


def images(scenario: SnapshotScenario) -> set[str]:
    """Of all drivers."""
    pods = scenario.scene.target.admin.list("Pod", scenario.scene.target.namespace, names.DRIVERS)
    return {container["image"] for pod in pods for container in pod["spec"]["containers"]}


def upgrade(scenario: SnapshotScenario, image: str = NEW) -> None:
    scenario.scene.write("PlacementPolicy", "default", {**QUICK, "podTemplate": {"image": image}})


def test_the_image_comes_when_the_snapshot_is_whole(scenario: SnapshotScenario) -> None:
    scenario.scene.ask(SQL, **ASKS)
    scenario.until(scenario.scene.ready)
    assert (made(scenario), images(scenario)) == ([], {OLD})
    pods = scenario.scene.pods()
    upgrade(scenario)
    for _ in range(3):
        scenario.scene.loop.once()
    (name,) = made(scenario)
    assert name.startswith("q-before-")
    assert scenario.scene.condition("Reconciling", "reason") == "TakingSnapshot"
    message = f"the upgrade to {NEW} waits for QuerySnapshot default/{name}"
    assert scenario.scene.condition("Reconciling", "message").startswith(
        message.replace("default", scenario.scene.target.namespace)
    )
    assert (scenario.scene.condition("Ready"), scenario.scene.pods()) == ("True", pods)

    assert images(scenario) == {OLD}
    scenario.until(lambda: scenario.complete(name))
    scenario.until(lambda: images(scenario) == {NEW})
    scenario.until(scenario.scene.ready)
    assert made(scenario) == [name], "once"


def test_a_query_that_does_not_ask_waits_for_nobody(scenario: SnapshotScenario) -> None:
    upgrade(scenario)
    scenario.until(lambda: images(scenario) == {NEW})
    assert made(scenario) == []


def fails(scenario: SnapshotScenario) -> None:
    """The snapshot before an upgrade."""
    asks = {"snapshots": {"beforeUpgrade": True, "place": {"claim": "backups"}}}
    scenario.scene.ask(SQL, **asks)
    scenario.until(scenario.scene.ready)
    upgrade(scenario)
    scenario.scene.loop.once()
    scenario.scene.loop.once()
    scenario.pods.end(f"snapshot.{made(scenario)[0]}", "Failed", CANNOT, "there is no room")
    scenario.until(lambda: scenario.scene.condition("Stalled", "reason") == "SnapshotFailed")


def test_a_snapshot_that_fails_holds_the_upgrade_and_says_what_to_do(scenario: SnapshotScenario) -> None:
    fails(scenario)
    words = "there is no room; delete it to try again, or set spec.snapshots.beforeUpgrade to false"
    assert words in scenario.scene.condition("Stalled", "message")
    assert (scenario.scene.condition("Ready"), images(scenario)) == ("True", {OLD})
    scenario.scene.ask(SQL)
    scenario.until(lambda: images(scenario) == {NEW})


def test_a_driver_that_dies_meanwhile_comes_back_with_its_image(scenario: SnapshotScenario) -> None:
    fails(scenario)
    before, *others = scenario.scene.pods()
    scenario.pods.end(before, "Failed", 1, "it died")
    scenario.until(lambda: len(scenario.scene.pods().keys() - {before}) > len(others))
    assert images(scenario) == {OLD}
