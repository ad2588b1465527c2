"""Moves at a time are limited by policy and namespace, and have a deadline: a hung one holds up no other."""

from __future__ import annotations

from dataclasses import replace

from weir_operator.api.moving import MoveBudget
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import DesiredQuery
from weir_operator.controller.loop import Loop

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, desired, loop, one_query, query, settle

HASTY = PlacementPolicySpec(move_budget=MoveBudget.model_validate({"deadline": "30s"}))
NODES = frozenset({"n1", "n2", "n3"})


def of(name: str) -> DesiredQuery:
    return desired(replace(query("x"), name=name))


def restarted(scenario: Scenario) -> None:
    """What all pods are started with is another: each is replaced where it is."""
    scenario.queries = {name: replace(one, pods="other") for name, one in scenario.queries.items()}


def replaced(cluster: FakeCluster) -> set[str]:
    """Fragments whose second epoch runs."""
    return {p.fragment for p in cluster.processes.values() if p.epoch > 1 and p.state == "running"}


def placed_apart() -> tuple[Scenario, FakeCluster, Loop]:
    """Fragments of `q` and of another namespace's `r`, where standbys of the first will hang."""
    scenario = Scenario({"default/q": of("default/q"), "other/r": of("other/r")}, policy=HASTY)
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    return scenario, cluster, it


def test_a_hung_move_holds_up_no_other_namespace() -> None:
    scenario, cluster, it = placed_apart()
    cluster.hung = {name for name, _ in cluster.processes if name.startswith("q-")}
    restarted(scenario)
    for _ in range(25):
        it.once()
    assert {name for name, _ in cluster.processes if name.startswith("r-")} == replaced(cluster)
    at_a_time = {name for name, epoch in cluster.processes if name.startswith("q-") and epoch > 1}
    assert len(at_a_time) == 1, "of one namespace they go one after the other"


def test_after_its_deadline_it_is_no_longer_waited_for() -> None:
    scenario, cluster, it = placed_apart()
    hung = min(name for name, _ in cluster.processes if name.startswith("q-"))
    cluster.hung = {hung}
    restarted(scenario)
    for _ in range(70):
        it.once()
    assert replaced(cluster) == {name for name, _ in cluster.processes} - {hung}
    events = [e for e in cluster.events if e.reason == "MoveOverdue"]
    assert events
    assert {hung} == {e.message.split()[0] for e in events}
    assert cluster.writers[hung] == [1]
    cluster.hung = set()
    settle(it)
    assert hung in replaced(cluster)


def move_back(cluster: FakeCluster, it: Loop, scenario: Scenario) -> tuple[set[str], set[str]]:
    """`q` has moved from a cordoned node, and is rolled back to it; where it was, and where it is."""
    scenario.policy = HASTY
    settle(it)
    first = {p.node for p in cluster.processes.values()}
    scenario.cordoned = frozenset(first - {"n1"}) or frozenset(first)
    settle(it)
    second = {p.node for p in cluster.processes.values()}
    scenario.cordoned = frozenset()
    cluster.slow_nodes = frozenset(first - second)
    assert cluster.slow_nodes
    placement = cluster.placements["default/q"]
    assert placement.spec["revision"] == 2
    cluster.placements["default/q"] = replace(placement, spec={**placement.spec, "pinned": 1})
    return first, second


def test_a_move_that_hangs_is_taken_back() -> None:
    scenario, cluster = one_query(), FakeCluster()
    it = loop(scenario, cluster)
    _, before = move_back(cluster, it, scenario)
    writers = {name: list(epochs) for name, epochs in cluster.writers.items()}
    for _ in range(60):
        it.once()
    assert {p.node for p in cluster.processes.values()} == before
    assert cluster.placements["default/q"].spec["revision"] == 4
    (event,) = [e for e in cluster.events if e.reason == "MoveAborted"]
    assert "back to revision 2" in event.message
    hung = event.message.split()[0]
    assert cluster.writers[hung] == writers[hung], "what worked went on"


def test_one_that_cannot_go_back_goes_elsewhere() -> None:
    scenario, cluster = one_query(), FakeCluster()
    scenario.policy = HASTY
    it = loop(scenario, cluster)
    settle(it)
    scenario.lost = cluster.dead_nodes = frozenset({max(p.node for p in cluster.processes.values())})
    cluster.slow_nodes = NODES - cluster.dead_nodes - {"n1"}
    for _ in range(120):
        it.once()
    alive = {p.node for p in cluster.processes.values() if p.state == "running"}
    assert alive == {"n1"}
    assert len({f["name"] for f in cluster.placements["default/q"].spec["fragments"]}) == len(
        cluster.running()
    )
