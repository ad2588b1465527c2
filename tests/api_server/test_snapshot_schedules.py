"""Snapshots on a schedule: made when they are due, once, and kept by count and age."""

from __future__ import annotations

import pytest
from weir_operator.controller.times import seconds

from tests.api_server.scene import SQL
from tests.api_server.town import Town

HOURLY = {"schedule": "0 * * * *"}


class OperatorClock:
    """The operator's, set by the test; it goes on by a second with each look."""

    def __init__(self, town: Town, begin: str = "") -> None:
        created = town.scene.of("StreamQuery")["metadata"]["creationTimestamp"]
        self.now = seconds(begin or created) // 3600 * 3600 + 3600.0 - 60.0
        town.scene.loop.clock = self

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def made(town: Town) -> list[str]:
    snapshots = town.scene.world.admin.list("QuerySnapshot", town.scene.world.namespace)
    return sorted(o["metadata"]["name"] for o in snapshots)


def test_it_makes_what_is_due_once_and_keeps_so_many(town: Town) -> None:
    clock = OperatorClock(town)
    town.scene.ask(SQL, snapshots={**HOURLY, "keep": {"count": 2}})
    for _ in range(3):
        town.scene.loop.once()
    assert made(town) == [], "none was due since the query is there"
    for hour in range(1, 5):
        clock.now += 3600.0
        town.until(lambda h=hour: town.pods.done.count("take") == h and all(map(town.complete, made(town))))
    town.until(lambda: len(made(town)) == 2)
    first, second = made(town)
    assert second > first
    assert town.pods.done.count("take") == 4
    assert town.pods.done.count("remove") == 2
    assert {path.name for path in town.pods.volume.glob("snapshots/*/[!.]*")} == {first, second}

    # a person deletes the last one, and the operator begins anew: it is not made again
    town.scene.world.admin.delete("QuerySnapshot", town.scene.world.namespace, second)
    town.scene.start_operator()
    town.scene.loop.clock = clock
    for _ in range(3):
        town.scene.loop.once()
    assert made(town) == [first]

    # several were missed: the last is made up for
    clock.now += 5 * 3600.0
    town.until(lambda: len(made(town)) == 2)
    assert town.scene.of("StreamQuery")["status"]["lastSnapshot"].endswith(":00:00Z")


def test_its_age_and_place_are_those_of_the_setting(town: Town) -> None:
    clock = OperatorClock(town)
    town.scene.ask(SQL, snapshots={**HOURLY, "keep": {"age": "30m"}, "place": {"claim": "backups"}})
    clock.now += 3600.0
    town.until(lambda: made(town))
    (name,) = made(town)
    spec = town.scene.of("QuerySnapshot", name)["spec"]
    assert spec == {"query": "q", "keepFor": "30m", "place": {"claim": "backups"}}


@pytest.mark.parametrize(
    ("schedule", "why"), [("0 25 * * *", "is not a schedule"), ("0 0 30 2 *", "schedule")]
)
def test_a_schedule_that_means_nothing_is_said_by_field(town: Town, schedule: str, why: str) -> None:
    town.scene.ask(SQL, snapshots={"schedule": schedule})
    town.until(lambda: town.scene.condition("Stalled") == "True")
    message = town.scene.condition("Stalled", "message")
    assert "spec.snapshots.schedule" in message
    assert why in message
    assert town.scene.pods(), "what runs goes on"
