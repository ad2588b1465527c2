"""Algorithm 6's six steps: nothing lost, nothing twice, nothing overtaken; and what each wait is for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.adaptation.connections import Connection, connections
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import DistributionTable
from weir_placement.adaptation.reallocation import ReallocationStep, reallocate
from weir_placement.model.operators import Filter
from weir_placement.model.problem import Query

from tests.adaptation.random_queries import NODES, random_queries
from tests.adaptation.reallocation_simulator import MoveReplay

TUPLES = 40
ROW = Query(
    "q",
    {"s": "s"},
    (Filter("child", ("s",)), Filter("moved", ("child",)), Filter("parent", ("moved",))),
)
GRAPH = DataflowGraph([ROW])
BEFORE = DistributionTable({("q", "child"): "c", ("q", "moved"): "old", ("q", "parent"): "p"})
AFTER = BEFORE.with_moves({("q", "moved"): "new"})


def results(steps: Sequence[ReallocationStep], seed: int, waits: bool = True) -> list[tuple[int, int]]:
    replay = MoveReplay(Random(seed), TUPLES)
    for step in steps:
        replay.carry_out(step, waits)
    replay.finish()
    return replay.results


EXPECTED = [(n, n) for n in range(1, TUPLES + 1)]
STEPS = list(reallocate(BEFORE, AFTER, GRAPH))


def breaks(change: Callable[[list[ReallocationStep]], list[ReallocationStep]]) -> bool:
    return any(results(change(list(STEPS)), seed) != EXPECTED for seed in range(200))


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_what_the_parent_gets_is_what_it_gets_without_a_move(seed: int) -> None:
    assert results(STEPS, seed) == EXPECTED


def without(wait: str) -> Callable[[list[ReallocationStep]], list[ReallocationStep]]:
    return lambda steps: [replace(s, awaits=tuple(a for a in s.awaits if a != wait)) for s in steps]


def test_deactivated_at_once_as_printed_it_loses_what_waits() -> None:
    """Algorithm 6, line 18, follows the disconnection of children without a wait."""
    assert breaks(without("input-drained"))


def test_activated_before_the_old_results_have_arrived_they_are_lost_or_overtaken() -> None:
    assert breaks(without("output-received"))


def test_each_step_is_in_its_place() -> None:
    """Of the six, two neighbours may change places where no tuple can tell: 1 with 2, and 2 with 3."""
    changed = [
        breaks(lambda steps, i=i: [*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :]]) for i in range(5)
    ]
    assert changed[2:] == [True, True, True]


def test_the_six_steps_are_the_texts() -> None:
    kinds = [[request.kind for request in step.requests] for step in STEPS]
    assert [step.number for step in STEPS] == [1, 2, 3, 4, 5, 6]
    assert kinds == [
        ["Announce"],
        ["ReceiveData", "SendData"],
        ["ReceiveData", "SendData", "StopSend", "StopReceive"],
        ["DeActivate"],
        ["SendState"],
        ["StopSend", "StopReceive", "Activate"],
    ]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[DataflowGraph, DistributionTable, DistributionTable]:
    graph = DataflowGraph([draw(random_queries(most=6))])
    first, second = ({ref: draw(st.sampled_from(NODES)) for ref in graph.operators} for _ in range(2))
    return graph, DistributionTable(first), DistributionTable(second)


@settings(max_examples=50)
@given(pairs())
def test_requests_turn_the_connections_of_one_distribution_into_those_of_another(
    case: tuple[DataflowGraph, DistributionTable, DistributionTable],
) -> None:
    """Differences only: an operator that stays is neither activated nor deactivated, and each move leaves a
    complete distribution behind it."""
    graph, before, after = case
    present = connections(before, graph, deliveries=False)
    switched: dict[str, list[tuple[str, str]]] = {"Activate": [], "DeActivate": []}
    for step in reallocate(before, after, graph):
        for kind, receiver, subject, peer in step.requests:
            if kind == "ReceiveData":
                assert Connection(subject, peer, receiver) not in present
                present.add(Connection(subject, peer, receiver))
            elif kind == "StopReceive":
                present.remove(Connection(subject, peer, receiver))
            elif kind in switched:
                switched[kind].append(subject)
    assert present == connections(after, graph, deliveries=False)
    moved = sorted(before.differences(after))
    assert sorted(switched["Activate"]) == sorted(switched["DeActivate"]) == moved


@settings(max_examples=50)
@given(pairs(), st.sampled_from(NODES))
def test_a_lost_node_is_sent_nothing_and_waited_for_by_nobody(
    case: tuple[DataflowGraph, DistributionTable, DistributionTable], lost: str
) -> None:
    graph, before, after = case
    after = DistributionTable({ref: "e" if node == lost else node for ref, node in after.nodes.items()})
    for step in reallocate(before, after, graph, lost={lost}):
        assert all(request.receiver != lost for request in step.requests)
        assert not (before[step.operator] == lost and step.awaits)
