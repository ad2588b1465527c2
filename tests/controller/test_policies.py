"""Several policies: each plans on what the plans of the others leave of the nodes, by falling priority."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from weir_operator.controller.desired_state import DesiredState
from weir_operator.controller.observed_state import ObservedState
from weir_operator.controller.settings import Settings
from weir_placement.model.cluster import Node
from weir_placement.model.problem import Query

from tests.controller.fake_cluster import FakeCluster
from tests.controller.scenario import Scenario, condition, desired, loop, query, settle


@dataclass
class Two(Scenario):
    """Its first query has a policy of its own, which plans first."""

    entry: str = "n1"

    def desired_state(self, observed: ObservedState, settings: Settings) -> DesiredState:
        state = super().desired_state(observed, settings)
        (whole,) = state.groups
        (first, *rest), groups = whole.queries, []
        streams = {n: replace(s, origins=(self.entry,)) for n, s in whole.problem.streams.items()}
        for name, mine in (("high", [first]), ("low", rest)):
            problem = replace(
                whole.problem,
                queries=tuple(whole.queries[n].model for n in mine),
                streams=streams,
            )
            own_queries = {n: whole.queries[n] for n in mine}
            groups.append(replace(whole, name=name, queries=own_queries, problem=problem))
        return replace(state, groups=tuple(groups))


def two(change: Callable[[Query], Query], *nodes: Node) -> Two:
    queries = {f"default/{name}": desired(change(query(name))) for name in ("a", "b")}
    return Two(queries, nodes=nodes)


def heavy(q: Query) -> Query:
    """One operator that takes 0.15 cores."""
    return replace(q, operators=(replace(q.operators[0], cost=1500.0),))


def on(node: str) -> Callable[[Query], Query]:
    """The same, on one node."""
    return lambda q: replace(q, operators=tuple(replace(op, nodes=(node,)) for op in heavy(q).operators))


def nodes_of(cluster: FakeCluster, name: str) -> set[str]:
    return {operator["node"] for operator in cluster.placements[f"default/{name}"].spec["operators"]}


def headrooms(scenario: Two, cluster: FakeCluster) -> list[float]:
    it = loop(scenario, cluster)
    settle(it)
    return [it.last.explain[f"default/{name}"]["headroom"] for name in ("a", "b")]


def test_the_later_policy_plans_on_what_the_earlier_one_leaves() -> None:
    """Each would be where the stream enters, if it were alone."""
    scenario, cluster = two(heavy, Node("n1", cpu=0.2), Node("n2", cpu=0.2)), FakeCluster()
    settle(loop(scenario, cluster))
    assert (nodes_of(cluster, "a"), nodes_of(cluster, "b")) == ({"n1"}, {"n2"})


def test_bandwidth_that_the_others_use_is_taken_too() -> None:
    """Both send 1,600 bytes/s from the stream's entry, which may send 2,000."""
    scenario = two(on("n2"), Node("n1", cpu=1.0, egress=2000.0), Node("n2", cpu=1.0))
    assert headrooms(scenario, FakeCluster()) == pytest.approx([0.25, 0.25])


def test_a_suspended_query_of_another_policy_loads_nothing() -> None:
    scenario, cluster = two(on("n1"), Node("n1", cpu=0.45)), FakeCluster()
    assert headrooms(scenario, cluster) == pytest.approx([2.0, 2.0], rel=0.02)
    scenario.queries["default/a"] = replace(scenario.queries["default/a"], suspended=True)
    it = loop(scenario, cluster)
    settle(it)
    assert it.last.explain["default/b"]["headroom"] == pytest.approx(3.0, rel=0.02)


def test_a_node_that_is_no_more_stops_neither_its_policy_nor_the_other() -> None:
    """Both ran there, where the stream entered and the rows were delivered."""

    def delivered(q: Query) -> Query:
        return replace(heavy(q), deliver_to=("n1",))

    scenario = two(delivered, Node("n1", cpu=5.0), Node("n2", cpu=1.0), Node("n3", cpu=1.0))
    cluster = FakeCluster()
    it = loop(scenario, cluster)
    settle(it)
    assert nodes_of(cluster, "a") == nodes_of(cluster, "b") == {"n1"}
    scenario.nodes, scenario.entry = scenario.nodes[1:], "n2"
    scenario.lost = cluster.dead_nodes = frozenset({"n1"})
    for _ in range(30):
        it.once()
    assert "n1" not in nodes_of(cluster, "a") | nodes_of(cluster, "b")
    assert condition(cluster, "a", "Ready") == condition(cluster, "b", "Ready") == "True"
