"""Zones: a process is told that of its node, so that its flow's topic can be led there."""

from __future__ import annotations

from typing import Any

from weir_operator.controller.decision import Start
from weir_placement.model.cluster import Node

from tests.controller.scenario import FakeCluster, Scenario, desired, loop, query, settle


def test_a_process_is_told_its_zone_and_a_move_to_another_is_no_other_build() -> None:
    nodes = tuple(Node(f"n{i}", cpu=1.0, zone=f"z{i}") for i in (1, 2, 3))
    starts: list[Start] = []

    class RecordedStarts(FakeCluster):
        def apply(self, action: Any) -> None:
            if isinstance(action, Start):
                starts.append(action)
            super().apply(action)

    scenario = Scenario({"default/q": desired(query("q"))}, nodes=nodes)
    cluster = RecordedStarts()
    it = loop(scenario, cluster)
    settle(it)
    scenario.cordoned = frozenset(cluster.running().values())
    settle(it)
    assert all(s.spec.zone == s.spec.node.replace("n", "z") for s in starts)
    builds: dict[str, set[str]] = {}
    zones: dict[str, set[str]] = {}
    for start in starts:
        builds.setdefault(start.spec.name, set()).add(start.build)
        zones.setdefault(start.spec.name, set()).add(start.spec.zone)
    assert {len(of_one) for of_one in builds.values()} == {1}
    assert {len(of_one) for of_one in zones.values()} == {2}
