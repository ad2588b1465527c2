"""Snapshots on a schedule: made when they are due, once, and kept by count and age."""

from __future__ import annotations

import pytest
from weir_operator.controller.times import seconds

from tests.api_server.scene import SQL
from tests.api_server.snapshot_scenario import SnapshotScenario

HOURLY = {"schedule": "0 * * * *"}


class OperatorClock:
    """The operator's, set by the test; it goes on by a second with each look."""

    def __init__(self, scenario: SnapshotScenario, begin: str = "") -> None:
        created = scenario.scene.of("StreamQuery")["metadata"]["creationTimestamp"]
        self.now = seconds(begin or created) // 3600 * 3600 + 3600.0 - 60.0
        scenario.scene.loop.clock = self

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def made(scenario: SnapshotScenario) -> list[str]:
    snapshots = scenario.scene.target.admin.list("QuerySnapshot", scenario.scene.target.namespace)
    return sorted(o["metadata"]["name"] for o in snapshots)


def test_it_makes_what_is_due_once_and_keeps_so_many(scenario: SnapshotScenario) -> None:
    clock = OperatorClock(scenario)
    scenario.scene.ask(SQL, snapshots={**HOURLY, "keep": {"count": 2}})
    for _ in range(3):
        scenario.scene.loop.once()
    assert made(scenario) == [], "none was due since the query is there"
    for hour in range(1, 5):
        clock.now += 3600.0
        scenario.until(
            lambda h=hour: (
                scenario.pods.done.count("take") == h and all(map(scenario.complete, made(scenario)))
            )
        )
    scenario.until(lambda: len(made(scenario)) == 2)
    first, second = made(scenario)
    assert second > first
    assert scenario.pods.done.count("take") == 4
    assert scenario.pods.done.count("remove") == 2
    assert {path.name for path in scenario.pods.volume.glob("snapshots/*/[!.]*")} == {first, second}

    # a person deletes the last one, and the operator begins anew: it is not made again
    scenario.scene.target.admin.delete("QuerySnapshot", scenario.scene.target.namespace, second)
    scenario.scene.start_operator()
    scenario.scene.loop.clock = clock
    for _ in range(3):
        scenario.scene.loop.once()
    assert made(scenario) == [first]

    # several were missed: the last is made up for
    clock.now += 5 * 3600.0
    scenario.until(lambda: len(made(scenario)) == 2)
    assert scenario.scene.of("StreamQuery")["status"]["lastSnapshot"].endswith(":00:00Z")


def test_its_age_and_place_are_those_of_the_setting(scenario: SnapshotScenario) -> None:
    clock = OperatorClock(scenario)
    scenario.scene.ask(SQL, snapshots={**HOURLY, "keep": {"age": "30m"}, "place": {"claim": "backups"}})
    clock.now += 3600.0
    scenario.until(lambda: made(scenario))
    (name,) = made(scenario)
    spec = scenario.scene.of("QuerySnapshot", name)["spec"]
    assert spec == {"query": "q", "keepFor": "30m", "place": {"claim": "backups"}}


@pytest.mark.parametrize(
    ("schedule", "why"), [("0 25 * * *", "is not a schedule"), ("0 0 30 2 *", "schedule")]
)
def test_a_schedule_that_means_nothing_is_said_by_field(
    scenario: SnapshotScenario, schedule: str, why: str
) -> None:
    scenario.scene.ask(SQL, snapshots={"schedule": schedule})
    scenario.until(lambda: scenario.scene.condition("Stalled") == "True")
    message = scenario.scene.condition("Stalled", "message")
    assert "spec.snapshots.schedule" in message
    assert why in message
    assert scenario.scene.pods(), "what runs goes on"
