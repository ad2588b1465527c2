"""A plan that runs well is left for one that stays better by the threshold, and never within the noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.observed_state import FragmentMetrics, OperatorMetrics, Process
from weir_placement.model.cluster import Node

from tests.controller.scenario import FakeCluster, Scenario, desired, loop, query, settle

HOLD = 30.0
FILTER = replace(query("q"), operators=query("q").operators[:1])


@dataclass
class Readings:
    """What each running fragment would measure: 100 rows/s, half of them kept, 110 ms of CPU a second."""

    cluster: FakeCluster
    silent: bool = False
    factor: Callable[[float], float] = field(default=lambda at: 1.0)  # of CPU, by time

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        if self.silent:
            return {}
        return {p.fragment: self._of(p) for p in processes if p.state == "running"}

    def _of(self, process: Process) -> FragmentMetrics:
        at = self.cluster.time
        rows = 100.0 * (at - process.since)
        flows = {"s": (rows, rows), "f": (rows, rows / 2)}
        return FragmentMetrics(
            process.fragment,
            process.epoch,
            at,
            cpu_seconds=0.11 * (at - process.since) * self.factor(at),
            batches=at - process.since,
            operators={name: OperatorMetrics(*flow) for name, flow in flows.items()},
        )


class Story:
    """One query on the first of three equal nodes, and rounds a second apart."""

    def __init__(self, **policy: Any) -> None:
        policy = {"cooldown": "40s", "drift": {"hold": f"{HOLD:g}s"}, **policy}
        self.scenario = Scenario(
            {"default/q": desired(FILTER)}, policy=PlacementPolicySpec.model_validate(policy)
        )
        self.cluster = FakeCluster(time=10_000.0)
        self.readings = Readings(self.cluster)
        self.loop = loop(self.scenario, self.cluster, self.readings, period=1.0)
        self.rounds(60)

    def node(self) -> str:
        (node,) = set(self.cluster.running().values())
        return node

    def capacity(self, **cpu: float) -> None:
        self.scenario.nodes = tuple(Node(n.name, cpu.get(n.name, n.cpu)) for n in self.scenario.nodes)

    def rounds(self, count: int) -> list[str]:
        """The node after each round."""
        nodes = []
        for _ in range(count):
            self.loop.once()
            nodes += sorted(set(self.cluster.running().values()))
        return nodes

    def revision(self) -> int:
        return int(self.cluster.placements["default/q"].spec["revision"])


def test_it_moves_once_when_a_node_has_room_for_longer_than_the_hold_time() -> None:
    story = Story()
    first = story.node()
    better = next(n for n in ("n1", "n2", "n3") if n != first)
    story.capacity(**{better: 4.0})
    assert set(story.rounds(int(HOLD) - 1)) == {first}, "not before the hold time is over"
    story.rounds(60)
    assert story.node() == better
    assert story.revision() == 2
    assert any("a plan that was better for 30 s: headroom" in event.message for event in story.cluster.events)
    assert set(story.rounds(150)) == {better}
    assert story.revision() == 2


def test_what_a_foreign_taint_keeps_off_is_no_better_plan() -> None:
    """The taint is on the node that has room; another query tolerates it."""
    story = Story()
    first = story.node()
    better = next(n for n in ("n1", "n2", "n3") if n != first)
    story.scenario.closed = {"default/q": frozenset({better})}
    story.capacity(**{better: 4.0})
    assert set(story.rounds(int(HOLD) * 3)) == {first}
    story.scenario.closed = {}
    story.rounds(int(HOLD) * 3)
    assert story.node() == better


def test_a_gain_below_the_threshold_moves_nothing() -> None:
    story = Story()
    first = story.node()
    story.capacity(**{n: 1.15 for n in ("n1", "n2", "n3") if n != first})
    assert set(story.rounds(150)) == {first}


def test_a_gain_that_comes_and_goes_moves_nothing() -> None:
    story = Story()
    first = story.node()
    for step in range(10):
        story.capacity(**{n: 1.0 if step % 2 else 4.0 for n in ("n1", "n2", "n3") if n != first})
        assert set(story.rounds(20)) == {first}


def test_noise_in_what_is_measured_moves_nothing() -> None:
    """CPU that swings by a quarter, and nodes that differ by less than the threshold."""
    story = Story()
    first = story.node()
    story.capacity(**{n: 1.1 for n in ("n1", "n2", "n3") if n != first})
    story.readings.factor = lambda at: 1.25 if int(at) % 40 < 20 else 0.8
    assert set(story.rounds(150)) == {first}


@pytest.mark.parametrize(
    "policy", [{"cooldown": "1h"}, {"moveBudget": {"moves": 1, "period": "1h"}}], ids=["cooldown", "budget"]
)
def test_a_second_move_waits_for_cooldown_and_budget(policy: dict[str, Any]) -> None:
    story = Story(**policy)
    first = story.node()
    second, third = (n for n in ("n1", "n2", "n3") if n != first)
    story.capacity(**{second: 2.0})
    story.rounds(90)
    assert story.node() == second
    story.capacity(**{third: 8.0})
    assert set(story.rounds(150)) == {second}
    story.cluster.time += 4000.0
    story.rounds(120)
    assert story.node() == third


def test_the_cooldown_is_each_query_s_own() -> None:
    """Another query, which has never moved and cannot, gives no leave to move this one again."""
    story = Story(cooldown="1h")
    first = story.node()
    second = next(n for n in ("n1", "n2", "n3") if n != first)
    story.capacity(**{second: 2.0})
    story.rounds(60)
    assert story.revision() == 2
    other = query("other", nodes=(first,))
    story.scenario.queries["default/other"] = desired(replace(other, operators=other.operators[:1]))
    story.capacity(**{first: 90.0, second: 2.0})
    story.rounds(120)
    assert story.cluster.running() == {"q-f": second, "other-f": first}
    assert story.revision() == 2


def on_its_way() -> tuple[Story, str, str, str]:
    """A query whose standby is still warming up on the second node when the third becomes the best."""
    story = Story()
    first = story.node()
    second, third = (n for n in ("n1", "n2", "n3") if n != first)
    story.cluster.slow_nodes = frozenset({second})
    story.capacity(**{second: 2.0})
    story.rounds(60)
    assert story.revision() == 2
    story.capacity(**{second: 2.0, third: 8.0})
    return story, first, second, third


def test_a_query_is_not_planned_again_before_its_move_has_ended() -> None:
    story, first, second, third = on_its_way()
    assert set(story.rounds(200)) == {first}, "longer than hold time and cooldown"
    assert story.revision() == 2
    story.cluster.slow_nodes = frozenset()
    assert second in story.rounds(int(HOLD) - 1)
    assert story.revision() == 2, "what was seen during the move does not count for the hold time"
    story.rounds(30)
    assert story.node() == third
    assert story.revision() == 3


def test_a_query_whose_move_has_failed_is_planned_again() -> None:
    story, first, _, third = on_its_way()
    for key, process in story.cluster.processes.items():
        if process.state == "starting":
            story.cluster.processes[key] = replace(process, restarts=1)
    story.rounds(60)
    assert story.node() == third != first
    assert story.revision() == 3


def test_a_node_that_is_cordoned_does_not_wait_for_the_end_of_a_move() -> None:
    story, _, second, _ = on_its_way()
    story.scenario.cordoned = frozenset({second})
    story.rounds(10)
    assert story.revision() == 3
    assert story.cluster.placements["default/q"].spec["operators"][0]["node"] != second


def test_nothing_moves_on_declared_costs_alone() -> None:
    story = Story()
    first = story.node()
    story.readings.silent = True
    story.loop.readings.clear()
    story.capacity(**{n: 4.0 for n in ("n1", "n2", "n3") if n != first})
    assert set(story.rounds(300)) == {first}


def test_less_network_usage_counts_where_that_is_the_objective() -> None:
    """The source enters at n1: a plan elsewhere ships every row."""
    story = Story(objective="network-usage", strategy={"name": "exact-dp"})
    assert story.node() == "n1"
    story.scenario.cordoned = frozenset({"n1"})
    story.rounds(60)
    assert story.node() != "n1"
    story.scenario.cordoned = frozenset()
    story.rounds(60)
    assert story.node() == "n1"
    assert story.revision() == 3


def test_a_controller_that_is_replaced_meanwhile_remembers_since_when() -> None:
    story = Story()
    first = story.node()
    story.capacity(**{n: 4.0 for n in ("n1", "n2", "n3") if n != first})
    story.rounds(15)
    story.loop = loop(story.scenario, story.cluster, story.readings, period=1.0)
    assert first in story.rounds(10)
    story.rounds(20)
    assert story.node() != first, "the hold time began before the restart"
    assert story.revision() == 2


def test_shadow_shows_it_and_moves_nothing() -> None:
    story = Story()
    first = story.node()
    story.scenario.policy = PlacementPolicySpec.model_validate({"mode": "Shadow"})
    story.capacity(**{n: 4.0 for n in ("n1", "n2", "n3") if n != first})
    assert set(story.rounds(300)) == {first}
    assert story.cluster.placements["default/q"].status["proposed"]["revision"] == 2
    settle(story.loop)
