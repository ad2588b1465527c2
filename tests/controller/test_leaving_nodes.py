"""Nodes that a query leaves: full, cordoned, drained, lost."""

from __future__ import annotations

from weir_operator.api.policy import PlacementPolicySpec

from tests.controller.scenario import (
    FakeCluster,
    condition,
    loop,
    one_query,
    settle,
)


def test_a_node_that_turns_out_to_be_full_is_left_for_another() -> None:
    cluster = FakeCluster(full_nodes=frozenset({"n1"}))
    it = loop(one_query(), cluster)
    it.once()
    assert "pending" in {p.state for p in cluster.processes.values()}
    for _ in range(60 + 60):  # until the figures of the new plan have been written too
        it.once()
    assert cluster.running()
    assert "n1" not in cluster.running().values()
    assert condition(cluster, "q", "Ready") == "True"
    writes = cluster.writes
    for _ in range(60):
        it.once()
    assert cluster.writes == writes


def test_a_cordoned_node_is_left_by_a_warm_move() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    (fragment, node), *others = cluster.running().items()
    scenario.cordoned = frozenset({node})
    states = set()
    for _ in range(30):
        it.once()
        states |= {(p.epoch, p.state) for p in cluster.processes.values()}
        assert condition(cluster, "q", "Ready") == "True"
    assert node not in cluster.running().values()
    assert (2, "standby") in states
    moved = {name.rsplit("-", 1)[0] for name, epochs in cluster.writers.items() if epochs == [1, 2]}
    assert moved == {fragment} | {other for other, where in others if where == node}


def test_a_drain_is_held_up_for_its_time_and_then_no_more() -> None:
    """The move cannot end: no standby becomes ready. The budget goes, once."""
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    (fragment, node), *_ = ((p.fragment, p.node) for p in cluster.processes.values())
    assert fragment in cluster.protected
    scenario.cordoned = frozenset({node})
    cluster.drained = {node: cluster.time}
    cluster.slow_nodes = frozenset({"n1", "n2", "n3"} - {node})
    settle(it)
    assert fragment in cluster.protected
    cluster.time += scenario.policy.drain_timeout
    settle(it)
    assert fragment not in cluster.protected
    cluster.slow_nodes = frozenset()
    settle(it)
    assert node not in cluster.running().values()
    assert fragment in cluster.protected, "where it is now nobody drains it"


def test_on_cordon_stay_keeps_it_there() -> None:
    cluster, scenario = FakeCluster(), one_query()
    scenario.policy = PlacementPolicySpec.model_validate({"onCordon": "Stay"})
    it = loop(scenario, cluster)
    settle(it)
    running = cluster.running()
    scenario.cordoned = frozenset(running.values())
    settle(it)
    assert cluster.running() == running


def test_a_lost_node_is_left_and_the_new_process_waits_for_the_lease_to_expire() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    node = next(iter(cluster.running().values()))
    scenario.lost = cluster.dead_nodes = frozenset({node})
    for _ in range(30):
        it.once()
    assert cluster.running()
    assert node not in cluster.running().values()


def test_a_node_that_does_not_answer_for_a_moment_gets_no_second_process() -> None:
    cluster, scenario = FakeCluster(), one_query()
    it = loop(scenario, cluster)
    settle(it)
    before = set(cluster.processes)
    cluster.dead_nodes = frozenset({next(iter(cluster.running().values()))})  # its grace is not over
    for _ in range(5):
        it.once()
    assert set(cluster.processes) == before
    assert condition(cluster, "q", "Ready") == "False"
