"""A new runtime image stays only where fragments work with it; otherwise the one before goes on by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import FragmentMetrics, Process

from tests.controller.fake_cluster import Crash, FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle

OLD, NEW = "runtime:1", "runtime:2"


def policy(image: str, **template: Any) -> PlacementPolicySpec:
    return PlacementPolicySpec.model_validate({"podTemplate": {"image": image, **template}})


def town_with(*names: str, image: str = OLD) -> Scenario:
    return Scenario({f"default/{name}": desired(query(name)) for name in names}, policy(image))


def pass_time(the_loop: Loop, cluster: FakeCluster, seconds: float) -> None:
    """Rounds, one every ten seconds."""
    for _ in range(int(seconds / 10)):
        cluster.time += 9.0  # a look adds one
        the_loop.once()


def images(cluster: FakeCluster) -> set[str]:
    return {process.image for process in cluster.processes.values()}


def reasons(cluster: FakeCluster) -> list[str]:
    return [event.reason for event in cluster.events]


def rollout(cluster: FakeCluster, name: str) -> Any:
    return cluster.placements[f"default/{name}"].status.get("rollout")


def test_an_image_that_works_is_rolled_out_and_its_rollout_ends() -> None:
    scenario, cluster = town_with("q", "r"), FakeCluster()
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    assert images(cluster) == {OLD}
    scenario.policy = policy(NEW)
    the_loop.once()
    assert rollout(cluster, "q")["before"] == OLD
    pass_time(the_loop, cluster, 600)
    assert images(cluster) == {NEW}
    assert rollout(cluster, "q") is rollout(cluster, "r") is None
    assert "ImageRefused" not in reasons(cluster)
    assert condition(cluster, "q", "ImageRefused") == "False"


def test_an_image_that_does_not_start_is_taken_back_and_nothing_stopped() -> None:
    scenario, cluster = town_with("q", "r"), FakeCluster(bad_images=frozenset({NEW}))
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    writers = {fragment: list(epochs) for fragment, epochs in cluster.writers.items()}
    scenario.policy = policy(NEW)
    pass_time(the_loop, cluster, 250)
    assert NEW in images(cluster)
    pass_time(the_loop, cluster, 100)
    assert images(cluster) == {OLD}
    assert cluster.writers == writers
    (event,) = [e for e in cluster.events if e.reason == "ImageRefused"]
    assert event.message.startswith(f"image {NEW} was taken back, {OLD} goes on: ")
    assert "has not started with it within 300 s" in event.message
    pass_time(the_loop, cluster, 30)
    for name in ("q", "r"):
        assert condition(cluster, name, "ImageRefused") == "True"
        assert condition(cluster, name, "Ready") == "True"
    settle(loop(scenario, cluster))  # a controller that has just started, too
    assert images(cluster) == {OLD}


def test_an_image_is_tried_again_when_another_was_asked_for_in_between() -> None:
    scenario, cluster = town_with("q"), FakeCluster(bad_images=frozenset({NEW}))
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    scenario.policy = policy(NEW)
    pass_time(the_loop, cluster, 400)
    assert images(cluster) == {OLD}
    scenario.policy = policy(OLD)
    pass_time(the_loop, cluster, 100)
    assert (rollout(cluster, "q"), condition(cluster, "q", "ImageRefused")) == (None, "False")
    cluster.bad_images = frozenset()
    scenario.policy = policy(NEW)
    pass_time(the_loop, cluster, 600)
    assert images(cluster) == {NEW}


def test_after_a_refused_image_a_third_one_is_measured_against_the_first() -> None:
    scenario, cluster = town_with("q"), FakeCluster(bad_images=frozenset({NEW, "runtime:3"}))
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    for image in (NEW, "runtime:3"):
        scenario.policy = policy(image)
        pass_time(the_loop, cluster, 150)
    assert (rollout(cluster, "q")["image"], rollout(cluster, "q")["before"]) == ("runtime:3", OLD)
    pass_time(the_loop, cluster, 400)
    assert images(cluster) == {OLD}


def test_an_image_that_fails_once_it_works_is_taken_back() -> None:
    scenario, cluster = town_with("q", "r"), FakeCluster(faulty_images=frozenset({NEW}))
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    scenario.policy = policy(NEW)
    pass_time(the_loop, cluster, 600)
    pass_time(the_loop, cluster, 600)
    assert images(cluster) == {OLD}
    assert {p.state for p in cluster.processes.values()} == {"running"}
    assert "has not worked with it for 300 s" in next(
        e.message for e in cluster.events if e.reason == "ImageRefused"
    )


def test_a_policys_first_image_is_taken_back_to_the_operators_own() -> None:
    town, cluster = town_with("q"), FakeCluster(bad_images=frozenset({NEW}))
    town.policy = PlacementPolicySpec()
    the_loop = loop(town, cluster, image=OLD)
    settle(the_loop)
    present = dict(cluster.processes)
    town.policy = policy(NEW)
    pass_time(the_loop, cluster, 400)
    assert images(cluster) == {OLD}
    assert cluster.processes.keys() == present.keys(), "nothing is started anew"


@dataclass
class Backlog:
    """Readings in which so many batches wait for each fragment of the new image, five for another."""

    cluster: FakeCluster
    waiting: float
    until: float = 1e9

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        waiting = self.waiting if self.cluster.time < self.until else 5.0
        return {
            p.fragment: FragmentMetrics(
                p.fragment, p.epoch, p.since, backlog=waiting if p.image == NEW else 5.0
            )
            for p in processes
            if p.state == "running"
        }


@pytest.mark.parametrize(
    ("waiting", "seconds", "remains"),
    [(15.0, 1e9, NEW), (16.0, 1e9, OLD), (500.0, 250.0, NEW)],
    ids=["some more", "a pile", "a pile that goes"],
)
def test_an_image_before_which_rows_pile_up_is_taken_back(
    waiting: float, seconds: float, remains: str
) -> None:
    scenario, cluster = town_with("q"), FakeCluster()
    backlog = Backlog(cluster, waiting)
    the_loop = loop(scenario, cluster, metrics=backlog)
    settle(the_loop)
    backlog.until = cluster.time + seconds
    scenario.policy = policy(NEW)
    pass_time(the_loop, cluster, 900)
    assert images(cluster) == {remains}
    assert ("ImageRefused" in reasons(cluster)) == (remains == OLD)
    if remains == OLD:
        (event,) = [e for e in cluster.events if e.reason == "ImageRefused"]
        assert "32 batches wait for the query, 10 before, and that for 300 s" in event.message


def test_an_edit_of_the_template_alone_is_no_rollout() -> None:
    scenario, cluster = town_with("q"), FakeCluster()
    the_loop = loop(scenario, cluster)
    settle(the_loop)
    scenario.policy = policy(OLD, labels={"team": "a"})
    the_loop.once()
    assert rollout(cluster, "q") is None
    pass_time(the_loop, cluster, 100)
    assert len(cluster.writers[next(iter(cluster.writers))]) == 2


def test_the_operators_own_image_is_taken_back_as_well() -> None:
    scenario, cluster = town_with("q"), FakeCluster(bad_images=frozenset({NEW}))
    scenario.policy = PlacementPolicySpec()
    settle(loop(scenario, cluster, image=OLD))
    builds = {p.build for p in cluster.processes.values()}
    pass_time(loop(scenario, cluster, image=NEW), cluster, 400)
    assert images(cluster) == {OLD}
    assert {p.build for p in cluster.processes.values()} == builds


def bad_rollout(crash_at: int | None) -> FakeCluster:
    """A new image cannot be pulled; with a crash the controller is built anew and goes on."""
    scenario, cluster = town_with("q"), FakeCluster(bad_images=frozenset({NEW}))
    settle(loop(scenario, cluster))
    scenario.policy = policy(NEW)
    cluster.writes, cluster.crash_at = 0, crash_at
    try:
        pass_time(loop(scenario, cluster), cluster, 400)
    except Crash:
        cluster.crash_at = None
        pass_time(loop(scenario, cluster), cluster, 400)
    return cluster


UNDISTURBED = bad_rollout(None)


@pytest.mark.parametrize("crash_at", range(1, UNDISTURBED.writes + 1))
def test_killed_after_any_write_the_image_is_taken_back_all_the_same(crash_at: int) -> None:
    crashed = bad_rollout(crash_at)
    assert images(crashed) == {OLD}
    assert crashed.writers == UNDISTURBED.writers
    assert rollout(crashed, "q")["before"] == OLD
