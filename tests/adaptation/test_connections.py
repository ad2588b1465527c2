"""Connections: their count, the order in which they are made, and the limit of a node."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.adaptation.connection_limit import ConnectionsExceededError, over_limit, within_limit
from weir_placement.adaptation.connections import connect, connections, connections_by_node
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import DistributionTable, faults, pieces
from weir_placement.adaptation.patterns import round_robin
from weir_placement.bench.dcape_plans import PLANS, queries_of
from weir_placement.model.problem import Query

from tests.adaptation.random_queries import NODES, random_queries, row


@st.composite
def distributions(draw: st.DrawFn) -> tuple[DataflowGraph, DistributionTable]:
    graph = DataflowGraph([draw(random_queries())])
    return graph, DistributionTable({ref: draw(st.sampled_from(NODES)) for ref in graph.operators})


@given(distributions())
def test_connections_are_made_once_and_before_anything_flows(
    case: tuple[DataflowGraph, DistributionTable],
) -> None:
    """A replay: nobody sends to what is not active, and sources start when all readers listen."""
    graph, table = case
    active, sends, receives, started = set(), Counter(), Counter(), set()
    for request in connect(table, graph):
        if request.kind == "Activate":
            assert all(parent in active for parent in graph.parents[request.subject])
            active.add(request.subject)
        elif request.kind == "SendData":
            assert request.subject not in active
            sends[request.subject, request.receiver, request.peer] += 1
        elif request.kind == "ReceiveData":
            assert not started
            receives[request.subject, request.peer, request.receiver] += 1
        else:
            started.add(request.receiver)
    assert active == set(graph.operators)
    expected = Counter(connections(table, graph, deliveries=False))
    assert {c[:3] for c in expected if c.source} == set(sends)
    assert {(p, s, t) for (p, s, t), n in receives.items() if s} == set(sends)
    assert set(sends.values()) <= {1}
    assert started == {stream for streams in graph.streams.values() for stream in streams}


@given(distributions())
def test_a_connection_has_two_ends_of_which_sources_and_readers_outside_have_none(
    case: tuple[DataflowGraph, DistributionTable],
) -> None:
    graph, table = case
    everything = connections(table, graph)
    outside = sum(not c.source or not c.target for c in everything)
    assert connections_by_node(table, graph).total() == 2 * len(everything) - outside


def test_activating_a_join_takes_six_to_ten_requests() -> None:
    """Section 4.4: "a typical query operator takes 6-10 connect requests": children and parent elsewhere."""
    graph = DataflowGraph(queries_of(PLANS[1]))
    table = DistributionTable({ref: f"n{i}" for i, ref in enumerate(graph.operators)})
    requests = list(connect(table, graph))
    for ref, op in graph.operators.items():
        if op.stateful and graph.parents[ref]:
            own = [
                r for r in requests if r.subject == ref or r.receiver == table[ref] or r.peer == table[ref]
            ]
            assert 6 <= len(own) <= 10


def test_a_table_is_valid_when_it_has_every_operator_on_a_node_that_answers() -> None:
    graph = DataflowGraph([row(2)])
    table = DistributionTable({("q", "o0"): "a", ("q", "x"): "b"})
    assert faults(table, graph, ["a"]) == [
        "operator q/o1 is on no node",
        "operator q/x is in no query",
        "node b, which is to run q/x, does not answer",
    ]
    assert not faults(DistributionTable({("q", "o0"): "a", ("q", "o1"): "a"}), graph, ["a"])


@given(distributions())
def test_pieces_are_connected_and_all_there_is(case: tuple[DataflowGraph, DistributionTable]) -> None:
    graph, table = case
    groups = pieces(table, graph)
    assert sorted(ref for group in groups for ref in group) == sorted(graph.operators)
    of = {ref: i for i, group in enumerate(groups) for ref in group}
    for ref in graph.operators:
        for child in graph.children[ref]:
            assert (of[ref] == of[child]) == (table[ref] == table[child]) or of[ref] != of[child]


@settings(max_examples=30)
@given(query=random_queries(most=4), limit=st.integers(2, 6))
def test_a_limit_is_kept_or_refused_and_never_refused_without_reason(query: Query, limit: int) -> None:
    """Brute force over all distributions on three nodes: what none keeps is refused. A descent may refuse
    what another start would reach, but never says that it keeps what it does not."""
    graph, nodes = DataflowGraph([query]), NODES[:3]
    tables = (
        DistributionTable(dict(zip(graph.operators, places, strict=True)))
        for places in product(nodes, repeat=len(graph.operators))
    )
    possible = any(not over_limit(connections_by_node(t, graph), limit) for t in tables)
    try:
        kept = within_limit(round_robin(graph, nodes), graph, nodes, limit)
    except ConnectionsExceededError:
        return
    assert possible
    assert not over_limit(connections_by_node(kept, graph), limit)
    assert not faults(kept, graph, nodes)


@pytest.mark.parametrize(("plan", "limit"), [(PLANS[1], 8), (PLANS[2], 12)])
def test_round_robin_of_the_papers_plans_is_brought_within_a_limit(plan, limit: int) -> None:
    graph, nodes = DataflowGraph(queries_of(plan)), [f"n{i}" for i in range(5)]
    spread = round_robin(graph, nodes)
    assert over_limit(connections_by_node(spread, graph), limit)
    kept = within_limit(spread, graph, nodes, limit)
    assert max(connections_by_node(kept, graph).values()) <= limit


def test_eighteen_connections_do_not_fit_one_node() -> None:
    """Plan 4 has 16 streams and 2 outputs (section 5.2.2)."""
    graph = DataflowGraph(queries_of(PLANS[3]))
    with pytest.raises(ConnectionsExceededError, match="n0 has 18; give more nodes or a higher limit"):
        within_limit(round_robin(graph, ["n0"]), graph, ["n0"])


def test_a_move_goes_only_where_an_operator_may_run() -> None:
    graph = DataflowGraph([row(3)])
    table = DistributionTable({("q", "o0"): "a", ("q", "o1"): "b", ("q", "o2"): "a"})
    assert within_limit(table, graph, ["a", "b"], 2).on("a") == list(graph.operators)
    eligible = {("q", "o1"): frozenset("b")}
    kept = within_limit(table, graph, ["a", "b"], 3, eligible)
    assert kept["q", "o1"] == "b"
