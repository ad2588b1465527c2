"""Latencies measured between fragments become the planner's: a slow link is left and not taken again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.exposition import parse_metrics
from weir_operator.controller.links import remember, remembered, with_links
from weir_operator.controller.observed_state import FragmentMetrics, ObservedState, OperatorMetrics, Process
from weir_operator.controller.record import Record
from weir_operator.controller.settings import Settings
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Problem

from tests.controller.scenario import FakeCluster, Scenario, desired, loop, query

WRITTEN = np.array([[0.0, 0.001, 0.002], [0.001, 0.0, 0.001], [0.002, 0.001, 0.0]])
REAL = {("n1", "n2"): 0.050, ("n1", "n3"): 0.002}


@dataclass
class Measuring(Scenario):
    """n1, n2, n3 with latencies as written; `measured` as a NetworkTopology says it."""

    measured: bool = True

    def desired_state(self, observed: ObservedState, settings: Settings) -> DesiredState:
        state = super().desired_state(observed, settings)
        (group,) = state.groups
        cluster = replace(group.problem.cluster, network=Network.of_matrix(WRITTEN))
        problem = replace(group.problem, cluster=cluster)
        return replace(state, groups=(replace(group, problem=problem, measured_links=self.measured),))


@dataclass
class LinkReadings:
    """100 rows/s, half of them kept; the reader of another fragment measures what the link really is."""

    cluster: FakeCluster

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        running = [p for p in processes if p.state == "running"]
        at = {p.fragment.split("-")[1]: p.node for p in running}
        return {p.fragment: self._of(p, at) for p in running}

    def _of(self, process: Process, at: Mapping[str, str]) -> FragmentMetrics:
        now, age = self.cluster.time, self.cluster.time - process.since
        last = process.fragment.split("-")[1]
        flows = {"f": {"s": (100, 100), "f": (100, 50)}, "p": {"f": (50, 50), "p": (50, 50)}}[last]
        links = {}
        if last == "p" and "f" in at:
            links = {"f": REAL[at["f"], process.node]}
        return FragmentMetrics(
            process.fragment,
            process.epoch,
            now,
            cpu_seconds=0.05 * age,
            batches=age,
            operators={n: OperatorMetrics(a * age, b * age) for n, (a, b) in flows.items()},
            links=links,
        )


def story(measured: bool) -> tuple[FakeCluster, list[str]]:
    """Where the projection is after each round; the filter must be on n1, the projection must not."""
    policy = PlacementPolicySpec.model_validate(
        {"objective": "network-usage", "cooldown": "20s", "drift": {"hold": "10s"}}
    )
    far = query("q")
    operators = (
        replace(far.operators[0], nodes=("n1",)),
        replace(far.operators[1], nodes=("n2", "n3")),
    )
    scenario = Measuring({"default/q": desired(replace(far, operators=operators))}, policy, measured=measured)
    cluster = FakeCluster(time=10_000.0)
    running = loop(scenario, cluster, LinkReadings(cluster), period=1.0)
    places = []
    for _ in range(300):
        running.once()
        where = {f.split("-")[1]: node for f, node in cluster.running().items()}
        if where.get("p"):
            places.append(where["p"])
    return cluster, places


def test_a_link_found_slow_is_left_and_not_taken_again():
    cluster, seen = story(measured=True)
    assert seen[0] == "n2"
    assert seen[-1] == "n3"
    assert sum(a != b for a, b in pairwise(seen)) == 1
    links = cluster.placements["default/q"].status["links"]
    assert links == {"n1 n2": 0.05, "n1 n3": 0.002}


def test_what_is_written_holds_where_the_topology_does_not_ask_for_measurements():
    cluster, seen = story(measured=False)
    assert set(seen) == {"n2"}
    assert "links" not in cluster.placements["default/q"].status


def test_a_measurement_replaces_both_directions_unless_the_other_was_measured():
    problem = Problem(
        Cluster(tuple(Node(f"n{i}", 1.0) for i in (1, 2, 3)), Network.of_matrix(WRITTEN)), {}, ()
    )
    updated = with_links(
        problem, {("n1", "n2"): 0.05, ("n3", "n1"): 0.01, ("n1", "n3"): 0.02, ("gone", "n1"): 9.0}
    )
    latency = updated.cluster.network.latency
    assert latency[0, 1] == latency[1, 0] == 0.05
    assert (latency[2, 0], latency[0, 2]) == (0.01, 0.02)
    assert latency[1, 2] == WRITTEN[1, 2]
    assert problem.cluster.network.latency[0, 1] == WRITTEN[0, 1]


def test_zones_take_the_median_of_their_links():
    zones = Network(np.array([0, 0, 1, 1]), np.zeros((2, 2)), np.full((2, 2), np.inf))
    problem = Problem(Cluster(tuple(Node(f"n{i}", 1.0) for i in range(4)), zones), {}, ())
    updated = with_links(problem, {("n0", "n2"): 0.01, ("n1", "n2"): 0.03, ("n1", "n3"): 0.02})
    assert updated.cluster.network.latency[0, 1] == pytest.approx(0.02)


def test_small_differences_are_not_news():
    once = remember(Record("default/q"), {("a", "b"): 0.010}, "ab")
    assert remember(once, {("a", "b"): 0.011}, "ab") is once
    assert remembered([remember(once, {("a", "b"): 0.030}, "ab"), once]) == {("a", "b"): pytest.approx(0.02)}


def test_links_of_nodes_that_are_no_more_are_forgotten():
    """Machines come and go: a status that remembered all of them would outgrow what may be stored."""
    record = Record("default/q")
    for n in range(100):
        record = remember(record, {("a", f"n{n}"): 0.010}, {"a", f"n{n}"})
    assert dict(record.status["links"]) == {"a n99": 0.010}


def test_the_metric_is_read_by_input():
    text = 'weir_link_seconds{query="d/q",fragment="q-p",operator="f"} 0.004\n'
    assert parse_metrics(text, "q-p", 1, 5.0).links == {"f": 0.004}
