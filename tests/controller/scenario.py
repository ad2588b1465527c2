"""A small cluster for tests of the loop: one or two queries on three nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from weir_operator.api.policy import PlacementPolicySpec
from weir_operator.controller.desired_state import DesiredQuery, DesiredState, Fault, Group
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import FragmentMetrics, ObservedState, Process
from weir_operator.controller.settings import Settings
from weir_placement.fragments import Ends, Layout
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.fragment import Output
from weir_placement.model.operators import Filter, Item, Project
from weir_placement.model.problem import Overheads, Problem, Query
from weir_placement.model.streams import Column, Stream

from tests.controller.fake_cluster import FakeCluster

LAYOUT = Layout("/data")
COLUMNS = (Column("k", "BIGINT", 8), Column("ts", "TIMESTAMP", 8))


def stream(name: str, node: str, rate: float = 100.0) -> Stream:
    return Stream(f"default/{name}", rate, COLUMNS, (node,), 16.0, "ts", 1.0)


def query(name: str, predicate: str = "s.k = 1", nodes: tuple[str, ...] = ()) -> Query:
    """A costly filter and a projection over `s`."""
    return Query(
        f"default/{name}",
        {"s": "default/s"},
        (
            Filter("f", ("s",), ("s.k",), predicate, selectivity=0.5, cost=1000.0, nodes=nodes),
            Project("p", ("f",), ("s.k",), items=(Item("s.k", "s.k"),), cost=10.0, nodes=nodes),
        ),
    )


def desired(q: Query, **changes: Any) -> DesiredQuery:
    ends = Ends({"s": {"files": {"uri": "/in/s", "format": "arrow"}}}, Output("files", f"/out/{q.name}"))
    source = f"{q.name} {q.operators[0].predicate}"
    nodes = {op.id: op.nodes for op in q.operators if op.nodes}
    return replace(DesiredQuery(q, ends, source, generation=1, nodes=nodes), **changes)


@dataclass
class Scenario:
    """What a user can change; `desired_state` is how the loop reads it."""

    queries: dict[str, DesiredQuery]
    policy: PlacementPolicySpec = field(default_factory=PlacementPolicySpec)
    nodes: tuple[Node, ...] = tuple(Node(f"n{i}", cpu=1.0) for i in (1, 2, 3))
    lost: frozenset[str] = frozenset()
    cordoned: frozenset[str] = frozenset()
    closed: dict[str, frozenset[str]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)

    def desired_state(self, observed: ObservedState, settings: Settings) -> DesiredState:
        gone = self.lost | self.cordoned
        nodes = tuple(replace(n, schedulable=n.name not in gone) for n in self.nodes)
        cluster = Cluster(nodes, Network.uniform(len(nodes), 0.001))
        problem = Problem(
            cluster,
            {"default/s": stream("s", "n1")},
            tuple(a.model for a in self.queries.values()),
            overheads=Overheads(fragment_cpu=1000.0),
        )
        statuses = {
            f"{o['metadata']['namespace']}/{o['metadata']['name']}": o.get("status") or {}
            for o in observed.objects
            if o["kind"] == "Query"
        }
        return DesiredState(
            (Group("default", self.policy, problem, self.queries),),
            faults=self.faults,
            lost=self.lost,
            cordoned=self.cordoned,
            closed=self.closed,
            statuses=statuses,
        )


def one_query() -> Scenario:
    return Scenario({"default/q": desired(query("q"))})


def condition(cluster: FakeCluster, name: str, kind: str) -> str:
    present = cluster.statuses[f"default/{name}"]["conditions"]
    return next(c["status"] for c in present if c["type"] == kind)


class NoMetrics:
    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        return {}


@dataclass
class FakeExchange:
    """Folders by fragment."""

    folders: set[str] = field(default_factory=set)
    sweeps: int = 0

    def sweep(self, keep: frozenset[str]) -> None:
        self.sweeps += 1
        self.folders &= keep


def loop(
    scenario: Scenario, cluster: FakeCluster, metrics: Any = None, exchange: Any = None, **settings: Any
) -> Loop:
    return Loop(
        cluster,
        metrics or NoMetrics(),
        exchange or FakeExchange(),
        scenario.desired_state,
        Settings(LAYOUT, **settings),
        lambda: cluster.time,
    )


def settle(the_loop: Loop, rounds: int = 60) -> None:
    """Rounds until two in a row write nothing."""
    quiet = 0
    cluster = the_loop.cluster
    for _ in range(rounds):
        before = cluster.writes  # type: ignore[attr-defined]
        the_loop.once()
        quiet = quiet + 1 if cluster.writes == before else 0  # type: ignore[attr-defined]
        if quiet == 3:
            return
    raise AssertionError(f"still writing after {rounds} rounds: {cluster.log[-12:]}")  # type: ignore[attr-defined]
