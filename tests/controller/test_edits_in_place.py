"""Edits that change no row: the plan in force is kept while it keeps them, and moved when it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.current_plan import as_specified, excluded_nodes
from weir_operator.controller.record import Record
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Operator
from weir_placement.model.plan import QueryPlan

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle
from tests.controller.test_better_plan import FILTER, HOLD, Story

CLUSTER = Cluster(tuple(Node(f"n{i}", cpu=1.0) for i in (1, 2, 3)), Network.uniform(3, 0.001))


@pytest.mark.parametrize("mode", ["Move", "Stay"])
def test_another_list_of_nodes_moves_what_is_outside_of_it_and_nothing_else(mode: str) -> None:
    scenario = Scenario({f"default/{name}": desired(query(name, nodes=("n1", "n2"))) for name in ("q", "r")})
    scenario.policy = PlacementPolicySpec.model_validate({"onCordon": mode})
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    others = {k for k in cluster.processes if k[0].startswith("r-")}
    scenario.queries["default/q"] = desired(query("q", nodes=("n3",)), generation=2)
    for _ in range(20):
        it.once()
        assert condition(cluster, "q", "Ready") == "True", "by a warm move"
    settle(it)
    assert {p.node for k, p in cluster.processes.items() if k[0].startswith("q-")} == {"n3"}
    assert others <= set(cluster.processes)
    assert all(epochs in ([1], [1, 2]) for epochs in cluster.writers.values())


def test_a_longer_list_of_nodes_moves_nothing_by_itself() -> None:
    scenario, cluster = Scenario({"default/q": desired(query("q", nodes=("n2",)))}), FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    writes = cluster.writes
    scenario.queries["default/q"] = desired(query("q"))
    settle(it)
    assert cluster.writes == writes
    scenario.cordoned = frozenset({"n2"})
    settle(it)
    assert "n2" not in cluster.running().values(), "it is free to go anywhere now"


def test_what_has_moved_by_another_list_is_counted_when_others_are_planned() -> None:
    """Beside it the new query has more room on n2, without it on n3."""
    scenario, cluster = (
        Scenario({"default/q": desired(replace(FILTER, operators=(within("n1"),)))}),
        FakeCluster(),
    )
    scenario.nodes = (Node("n1", cpu=0.12), Node("n2", cpu=0.2), Node("n3", cpu=0.3))
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = desired(replace(FILTER, operators=(within("n3"),)))
    settle(it)
    other = query("r")
    scenario.queries["default/r"] = desired(replace(other, operators=other.operators[:1]))
    settle(it)
    assert cluster.running() == {"q-f": "n3", "r-f": "n2"}


def within(*nodes: str) -> Operator:
    return replace(FILTER.operators[0], nodes=nodes)


def test_where_nothing_else_fits_it_stays_and_that_is_said_once() -> None:
    scenario, cluster = Scenario({"default/q": desired(query("q", nodes=("n1",)))}), FakeCluster()
    scenario.cordoned = frozenset({"n2"})
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = desired(query("q", nodes=("n2",)))
    settle(it)
    assert set(cluster.running().values()) == {"n1"}
    (decision, *_) = cluster.placements["default/q"].status["decisions"]
    assert "stay: must leave n1" in decision


def on_another_node() -> Story:
    """A query that has moved from where its stream enters to a node that was better."""
    story = Story()
    story.capacity(n2=4.0)
    story.rounds(90)
    assert story.node() == "n2"
    story.capacity(n2=1.0)
    story.rounds(60)
    assert story.node() == "n2"
    return story


def test_a_shorter_latency_moves_what_does_not_keep_it_any_more() -> None:
    """1 ms for the row itself, which waits about as long for the others, and 1 ms over the link."""
    story = on_another_node()
    story.scenario.queries["default/q"] = desired(replace(FILTER, max_latency=0.0100))
    assert set(story.rounds(int(HOLD) * 2)) == {"n2"}
    story.scenario.queries["default/q"] = desired(replace(FILTER, max_latency=0.0015))
    story.rounds(int(HOLD) * 2)
    assert story.node() == "n1"
    assert set(story.rounds(60)) == {"n1"}


def test_another_place_of_delivery_counts_for_the_latency() -> None:
    """From n2 the rows go one link further to n3: 3 ms at least."""
    story = on_another_node()
    story.scenario.queries["default/q"] = desired(replace(FILTER, max_latency=0.0100, deliver_to=("n2",)))
    assert set(story.rounds(int(HOLD) * 2)) == {"n2"}
    story.scenario.queries["default/q"] = desired(replace(FILTER, max_latency=0.0025, deliver_to=("n3",)))
    story.rounds(int(HOLD) * 2)
    assert story.node() in ("n1", "n3")


def test_what_is_the_pods_own_replaces_them_where_they_are_one_after_the_other() -> None:
    scenario, cluster = (
        Scenario({f"default/{name}": desired(query(name)) for name in ("q", "r")}),
        FakeCluster(),
    )
    it = loop(scenario, cluster)
    settle(it)
    nodes, others = cluster.running(), {k: p for k, p in cluster.processes.items() if k[0].startswith("r-")}
    scenario.queries["default/q"] = desired(query("q"), pods='{"labels": {"team": "a"}}', generation=2)
    for _ in range(20):
        it.once()
        lives = [p.fragment for p in cluster.processes.values()]
        assert len(lives) - len(set(lives)) <= 1
        assert condition(cluster, "q", "Ready") == "True"
    settle(it)
    assert cluster.running() == nodes
    assert {k: p for k, p in cluster.processes.items() if k[0].startswith("r-")} == others
    assert {epochs[-1] for f, epochs in cluster.writers.items() if f.startswith("q-")} == {2}
    assert cluster.placements["default/q"].spec["revision"] == 1


def test_fragments_of_the_plan_before_are_not_replaced_for_an_edit() -> None:
    scenario, cluster = Scenario({"default/q": desired(query("q"))}), FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    scenario.queries["default/q"] = desired(query("q", "s.k = 2"), pods='{"labels": {"team": "a"}}')
    settle(it)
    assert all(epochs == [1] for epochs in cluster.writers.values())
    assert len(cluster.placements["default/q"].spec["plan"]["told"]) == len(cluster.processes)


def record(*operators: Operator, node: str = "n1", sink: str = "") -> Record:
    plan = QueryPlan(
        replace(query("q"), operators=operators), {o.id: node for o in operators}, {"s": "n1"}, sink
    )
    return Record("default/q", 1, plan, source=desired(query("q")).source)


def test_rows_are_delivered_where_they_are_wanted_now() -> None:
    before, ops = desired(query("q")), query("q").operators

    def sink(*wanted: str, sink: str = "") -> str:
        plan = as_specified(
            record(*ops, node="n2", sink=sink),
            replace(before, model=replace(before.model, deliver_to=wanted)),
            CLUSTER,
        )
        assert plan is not None
        return plan.sink

    assert sink() == sink(sink="n3") == ""
    assert sink("n1", "n3", sink="n3") == "n3", "as planned"
    assert sink("n3", "n2") == "n2", "where they are made"
    assert sink("gone", "n3") == "n3"
    assert sink("gone", sink="n1") == "n1"


def test_an_edit_that_waits_changes_nothing_of_the_plan_before() -> None:
    now = record(*query("q", nodes=("n1",)).operators)
    edit = desired(query("q", "s.k = 9", nodes=("n2",)))
    assert as_specified(now, edit, CLUSTER) is now.plan
    assert excluded_nodes(now, edit, CLUSTER) == {}


def test_an_operator_made_of_several_stays_within_the_lists_that_have_it() -> None:
    merged = replace(query("q").operators[0], id="x", origin=("f", "p"))

    def off(**nodes: tuple[str, ...]) -> frozenset[str]:
        return excluded_nodes(record(merged), replace(desired(query("q")), nodes=nodes), CLUSTER).get(
            "x", frozenset()
        )

    assert off(other=("n3",)) == set()
    assert off(f=("n1", "n2")) == off(f=("n1", "n2"), p=("n3",)) == {"n3"}
    assert off(f=("n2", "n3"), p=("n3",)) == {"n1", "n2"}
    assert off(f=("n2",), p=("n3",)) == {"n1"}
