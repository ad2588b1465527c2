"""A query that cannot be planned is planned again when something has changed that its plan depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.planning.strategy import StrategyCall
from weir_placement.model.cluster import Node
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each search was about."""
    sizes: list[int] = []
    run = StrategyCall.run

    def counted(self: StrategyCall, problem: Problem) -> Result:
        sizes.append(len(problem.queries))
        return run(self, problem)

    monkeypatch.setattr(StrategyCall, "run", counted)
    return sizes


def nowhere() -> Scenario:
    """Query `q` is to be delivered sooner than any row can be."""
    big = replace(query("q"), max_latency=1e-9, deliver_to=("n3",))
    return Scenario({"default/q": desired(big)})


def test_a_refused_query_is_planned_once_while_nothing_changes(calls: list[int]) -> None:
    scenario, cluster = nowhere(), FakeCluster()
    it = loop(scenario, cluster)
    for _ in range(20):
        it.once()
    assert calls == [1]
    assert condition(cluster, "q", "Stalled") == "True", "it is still refused"


def test_it_is_planned_again_when_capacity_a_plan_or_the_query_has_changed(calls: list[int]) -> None:
    scenario, cluster = nowhere(), FakeCluster()
    it = loop(scenario, cluster)
    it.once()
    scenario.nodes = (*scenario.nodes, Node("n4", cpu=1.0))
    it.once()
    assert len(calls) == 2
    scenario.queries["default/r"] = desired(query("r"))
    for _ in range(5):
        it.once()
    assert calls == [1, 1, 1, 2], "the new one alone, then the refused one beside its plan"
    scenario.queries["default/q"] = desired(query("q"))
    for _ in range(10):
        it.once()
    assert len(calls) == 5
    assert condition(cluster, "q", "Ready") == "True"


def test_it_is_planned_again_after_a_while(calls: list[int]) -> None:
    scenario, cluster = nowhere(), FakeCluster()
    it = loop(scenario, cluster)
    it.once()
    cluster.time += 700.0
    it.once()
    assert len(calls) == 2


def test_a_proposal_is_searched_once_and_comes_into_force_when_it_is_approved(calls: list[int]) -> None:
    scenario, cluster = Scenario({"default/q": desired(query("q"))}), FakeCluster()
    scenario.policy = PlacementPolicySpec(mode="Manual")
    it = loop(scenario, cluster)
    for _ in range(10):
        it.once()
    assert calls == [1]
    placement = cluster.placements["default/q"]
    proposed = placement.status["proposed"]
    approval = {"approval": {"plan": proposed["hash"], "until": "2100-01-01T00:00:00Z"}}
    cluster.placements["default/q"] = replace(placement, spec={**placement.spec, **approval})
    for _ in range(5):
        it.once()
    assert cluster.placements["default/q"].spec["revision"] == 1
