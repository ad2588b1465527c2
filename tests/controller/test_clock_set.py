"""The controller's clock is set: no deadline is over before its time, and none is put off for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.api.moving import MoveBudget
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.clock_watch import ClockWatch
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import FragmentMetrics

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import condition, loop, one_query, settle
from tests.controller.test_deleted_queries import KEPT, DeletedQueryScenario

HOUR, MONTH = 3600.0, 30 * 86_400.0


class Hands:
    """Sets the clock of a cluster in memory, whose loop knows that by another clock."""

    def __init__(self, cluster: FakeCluster, it: Loop) -> None:
        self._cluster = cluster
        self._ahead = 0.0
        it.clock_watch = ClockWatch(lambda: cluster.time - self._ahead)
        it.once()

    def move(self, seconds: float) -> None:
        self._ahead += seconds
        self._cluster.time += seconds


def hung_move(policy: PlacementPolicySpec) -> tuple[FakeCluster, Loop, Hands]:
    """Of a query that runs, and whose fragments are replaced, which does not end."""
    scenario = one_query()
    scenario.policy = policy
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    hands = Hands(cluster, it)
    cluster.hung = {name for name, _ in cluster.processes}
    scenario.queries = {name: replace(one, pods="other") for name, one in scenario.queries.items()}
    for _ in range(5):
        it.once()
    return cluster, it, hands


def overdue(cluster: FakeCluster) -> bool:
    return any(event.reason == "MoveOverdue" for event in cluster.events)


@pytest.mark.parametrize("step", [HOUR, -HOUR, MONTH], ids=["ahead", "back", "far ahead"])
def test_the_deadline_of_a_move_begins_anew(step: float) -> None:
    budget = MoveBudget.model_validate({"deadline": "30s"})
    cluster, it, hands = hung_move(PlacementPolicySpec(move_budget=budget))
    hands.move(step)
    for _ in range(20):
        it.once()
    assert not overdue(cluster), "25 s are not 30"
    for _ in range(20):
        it.once()
    assert overdue(cluster)


def stalled(cluster: FakeCluster) -> bool:
    return condition(cluster, "q", "Stalled") == "True"


@pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["ahead", "back"])
def test_what_makes_progress_is_not_stalled(step: float) -> None:
    cluster, it, hands = hung_move(PlacementPolicySpec.model_validate({"progressDeadline": "1m"}))
    hands.move(step)
    for _ in range(40):
        it.once()
    assert not stalled(cluster)
    for _ in range(40):
        it.once()
    assert stalled(cluster)


def test_what_is_kept_of_a_deleted_query_is_not_removed_early() -> None:
    scenario = DeletedQueryScenario()
    hands = Hands(scenario.cluster, scenario.loop)
    scenario.delete()
    assert KEPT in scenario.cluster.placements
    hands.move(MONTH)
    scenario.rounds(20)
    assert KEPT in scenario.cluster.placements
    scenario.cluster.time += MONTH
    scenario.loop.clock_watch = ClockWatch(lambda: 0.0 + scenario.cluster.time)
    scenario.rounds(20)
    assert KEPT not in scenario.cluster.placements


def test_rates_are_not_measured_over_a_step() -> None:
    cluster = FakeCluster()

    class Steady:
        """100 batches a second."""

        def read(self, processes: object) -> dict[str, FragmentMetrics]:
            now = cluster.time
            names = {name for name, _ in cluster.processes}
            return {name: FragmentMetrics(name, 1, now, batches=now * 100) for name in names}

    it = loop(one_query(), cluster, Steady())
    settle(it)
    hands = Hands(cluster, it)
    for _ in range(30):
        it.once()
    assert it.observed
    assert it.observed.previous_metrics
    hands.move(HOUR)
    it.once()
    assert not it.observed.previous_metrics
    for _ in range(30):
        it.once()
    assert it.observed.previous_metrics
