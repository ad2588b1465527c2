"""Algorithm 5 over time, algorithm 1 from the start on, and the loss of a node."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import pytest
from weir_placement.adaptation.connections import ConnectionRequest, connections
from weir_placement.adaptation.cost_models import CpuCost, NetworkOutputCost, NodeCapacity, RunningState
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_manager import DistributionManager, NoProcessorsError
from weir_placement.adaptation.distribution_table import Differences, DistributionTable
from weir_placement.adaptation.node_loss import NoProcessorError, evacuated
from weir_placement.adaptation.patterns import grouping, round_robin
from weir_placement.adaptation.policies import POLICIES, PolicyInput
from weir_placement.adaptation.reallocation import ReallocationStep
from weir_placement.adaptation.redistribution import Redistributor
from weir_placement.adaptation.redistribution_parameters import RedistributionParameters
from weir_placement.adaptation.statistics import OperatorStatistics
from weir_placement.model.problem import Query

from tests.adaptation.random_queries import row
from tests.adaptation.strained import TABLE, strained_state

ALWAYS = RedistributionParameters(0.0)
ALIVE = ["a", "b", "c"]


@dataclass
class Listing:
    """A policy that proposes what it is given, and counts what is looked at."""

    moves: Sequence[Differences]
    name: str = "listing"
    looked_at: int = 0

    def proposals(self, given: PolicyInput) -> Iterator[Differences]:
        for each in self.moves:
            self.looked_at += 1
            yield each


TO_LOST: Differences = {("p", "o0"): "lost"}
TO_B: Differences = {("p", "o0"): "b"}


def test_after_k_tries_without_a_valid_distribution_it_stays() -> None:
    policy = Listing([TO_LOST] * 10)
    report = Redistributor(CpuCost(), policy, ALWAYS, tries=3).round(0.0, strained_state(), ALIVE)
    assert policy.looked_at == 3
    assert report.table == TABLE
    assert not report.moves
    assert report.reason == "none of 3 proposals is valid"
    assert report.refused == ("p/o0 to lost: node lost, which is to run p/o0, does not answer",) * 3


def test_the_first_valid_distribution_is_taken_and_only_differences_move() -> None:
    report = Redistributor(CpuCost(), Listing([TO_LOST, TO_B]), ALWAYS).round(0.0, strained_state(), ALIVE)
    assert report.moves == TO_B
    assert report.table == TABLE.with_moves(TO_B)
    assert len(report.refused) == 1


def test_it_redistributes_at_most_once_a_minute() -> None:
    redistributor = Redistributor(CpuCost(), Listing([TO_B]), ALWAYS)
    state = strained_state()
    assert redistributor.round(100.0, state, ALIVE).moves
    assert not redistributor.round(159.0, state, ALIVE).moves
    assert redistributor.round(160.0, state, ALIVE).moves


def test_what_lowers_the_headroom_is_refused_and_reported() -> None:
    headrooms = {TABLE["p", "o0"]: 1.3, "b": 1.1, "c": 1.4}
    policy = Listing([TO_B, {("p", "o0"): "c"}])
    report = Redistributor(CpuCost(), policy, ALWAYS).round(
        0.0, strained_state(), ALIVE, headroom=lambda table: headrooms[table["p", "o0"]]
    )
    assert report.refused == ("p/o0 to b: headroom would fall from 1.3 to 1.1",)
    assert report.moves == {("p", "o0"): "c"}


def test_a_move_does_not_exceed_the_connections_of_a_node() -> None:
    """`b` has two flows from `a` and two deliveries; with r/o0 also a stream and a flow to `c`."""
    report = Redistributor(CpuCost(), Listing([{("r", "o0"): "b"}]), ALWAYS, limit=5).round(
        0.0, strained_state(), ALIVE
    )
    assert report.refused == ("r/o0 to b: node b would have 6 of 5 connections",)


@pytest.mark.parametrize("tries", [0, -1])
def test_there_is_at_least_one_try(tries: int) -> None:
    with pytest.raises(ValueError, match="needs at least one"):
        Redistributor(CpuCost(), Listing([]), tries=tries)


def with_served(share: float) -> RunningState:
    """`a` processes this share of what arrives."""
    state = strained_state()
    statistics = {
        ref: OperatorStatistics(s.arriving, (s.arriving[0] * share,), s.arriving[0] * share, s.state)
        if state.table[ref] == "a"
        else s
        for ref, s in state.statistics.items()
    }
    return RunningState(state.graph, state.table, statistics, state.capacities)


def test_degradation_is_since_the_last_allocation() -> None:
    """From all to 70 % it moves; what then stays at 70 % does not move again, and at 40 % it does."""
    redistributor = Redistributor(
        NetworkOutputCost(), POLICIES["degradation"], RedistributionParameters(10.0)
    )
    assert not redistributor.round(0.0, with_served(1.0), ALIVE).moves
    assert redistributor.round(60.0, with_served(0.7), ALIVE).moves
    assert not redistributor.round(120.0, with_served(0.7), ALIVE).moves
    assert not redistributor.round(180.0, with_served(0.7), ALIVE).moves
    assert redistributor.round(240.0, with_served(0.4), ALIVE).moves


@pytest.mark.parametrize("policy", POLICIES)
def test_without_a_reason_nothing_moves(policy: str) -> None:
    redistributor = Redistributor(CpuCost(), POLICIES[policy], RedistributionParameters(100.0))
    report = redistributor.round(0.0, strained_state(), ALIVE)
    assert report.reason == f"{policy} by cpu finds nothing to move"


@dataclass
class ProcessorsInMemory:
    """Processors of which some do not respond; state is that of `strained`, without those that died."""

    silent: set[str] = field(default_factory=set)
    requests: list[ConnectionRequest] = field(default_factory=list)
    steps: list[ReallocationStep] = field(default_factory=list)

    def configure(self, node: str, queries: Sequence[Query]) -> bool:
        return node not in self.silent

    def send(self, request: ConnectionRequest) -> None:
        self.requests.append(request)

    def carry_out(self, step: ReallocationStep) -> None:
        self.steps.append(step)

    def state(self, graph: DataflowGraph, table: DistributionTable) -> RunningState:
        cpu = {ref: 100.0 if table[ref] == "a" else 1.0 for ref in graph.operators}
        statistics = {ref: OperatorStatistics((1.0,), (1.0,), 1.0, cost=cpu[ref]) for ref in graph.operators}
        return RunningState(graph, table, statistics, {n: NodeCapacity(1.0, 500.0) for n in ALIVE})


def manager(processors: ProcessorsInMemory, limit: int | None = None) -> DistributionManager:
    return DistributionManager(
        processors, round_robin, Redistributor(CpuCost(), POLICIES["balance"], ALWAYS), limit
    )


def test_nodes_that_do_not_respond_get_nothing() -> None:
    processors = ProcessorsInMemory({"b"})
    _, table = manager(processors).start([row(4)], ALIVE)
    assert set(table.nodes.values()) == {"a", "c"}
    assert not any("b" in (r.receiver, r.peer) for r in processors.requests)


def test_without_a_node_that_responds_it_ends() -> None:
    with pytest.raises(NoProcessorsError, match="none of the nodes responds: a, b, c"):
        manager(ProcessorsInMemory(set(ALIVE))).start([row(1)], ALIVE)


def test_statistics_are_asked_of_each_node_once_the_plan_is_connected() -> None:
    processors = ProcessorsInMemory()
    graph, table = manager(processors).start([row(4)], ALIVE)
    kinds = [request.kind for request in processors.requests]
    assert kinds[-3:] == ["SendStatistics"] * 3
    assert kinds.count("Activate") == 4
    assert kinds.count("SendData") == len(connections(table, graph, deliveries=False)) - 1


def test_a_start_keeps_the_limit_of_connections() -> None:
    processors = ProcessorsInMemory()
    spread = DistributionManager(processors, round_robin, manager(processors).redistributor)
    graph, table = spread.start([row(9)], ALIVE)
    _, limited = manager(processors, limit=3).start([row(9)], ALIVE)
    assert len(connections(limited, graph)) < len(connections(table, graph))


def test_a_round_carries_out_the_steps_of_what_moves_and_no_others() -> None:
    processors = ProcessorsInMemory()
    graph = DataflowGraph([row(4)])
    table = DistributionTable(dict.fromkeys(graph.operators, "a"))
    report = manager(processors).round(0.0, graph, table)
    assert report.moves
    assert {step.operator for step in processors.steps} == set(report.moves)
    assert len(processors.steps) == 6 * len(report.moves)


def test_what_ran_on_a_lost_node_is_spread_by_cost() -> None:
    state = strained_state()
    moves = evacuated(state, CpuCost(), {"a"})
    assert set(moves) == set(state.table.on("a"))
    costs = CpuCost().table(state.distributed(state.table.with_moves(moves))).nodes
    stranded = [ref for ref, node in TABLE.nodes.items() if node == "a"]
    least = min(
        max(
            CpuCost()
            .table(state.distributed(state.table.with_moves(dict(zip(stranded, nodes, strict=True)))))
            .nodes[n]
            for n in "bc"
        )
        for nodes in product("bc", repeat=len(stranded))
    )
    assert max(costs["b"], costs["c"]) <= 4 / 3 * least


def test_an_operator_that_has_no_node_left_is_named() -> None:
    eligible = {("q", "o0"): frozenset("a")}
    with pytest.raises(NoProcessorError, match="q/o0 ran on a, which is lost, and may run on no other"):
        evacuated(strained_state(), CpuCost(), {"a"}, eligible)


def test_grouping_is_left_alone_where_all_is_well() -> None:
    state = strained_state()
    table = grouping(state.graph, ALIVE)
    redistributor = Redistributor(NetworkOutputCost(), POLICIES["degradation"])
    for minute in range(3):
        assert not redistributor.round(60.0 * minute, state.distributed(table), ALIVE).moves
