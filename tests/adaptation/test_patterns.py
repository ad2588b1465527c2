"""Round robin and grouping: who is where, and what is mended in algorithm 3."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.adaptation.connections import connections, connections_by_node
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import DistributionTable, faults, pieces
from weir_placement.adaptation.patterns import PATTERNS, grouping, round_robin
from weir_placement.bench.dcape_plans import PLANS, queries_of
from weir_placement.model.problem import Query

from tests.adaptation.printed_grouping import EndlessLoopError, printed_grouping
from tests.adaptation.random_queries import NODES, random_queries, row

node_lists = st.integers(1, 4).map(lambda n: NODES[:n])


def test_as_printed_grouping_never_ends_once_a_machine_is_full() -> None:
    graph = DataflowGraph([row(2)])
    with pytest.raises(EndlessLoopError):
        printed_grouping(graph, ["a", "b"])
    assert grouping(graph, ["a", "b"]).nodes == {("q", "o0"): "a", ("q", "o1"): "b"}


def test_as_printed_grouping_leaves_operators_on_no_machine() -> None:
    """Where it ends: of three in a row on one machine it takes the leaf and its parent."""
    graph = DataflowGraph([row(3)])
    assert len(printed_grouping(graph, ["a"])) == 2
    assert len(grouping(graph, ["a"]).nodes) == 3


def test_a_row_is_cut_into_neighbours() -> None:
    table = grouping(DataflowGraph([row(5)]), ["a", "b"])
    assert [table["q", f"o{i}"] for i in range(5)] == ["a", "a", "a", "b", "b"]


def test_round_robin_takes_turns() -> None:
    table = round_robin(DataflowGraph([row(5)]), ["a", "b"])
    assert [table["q", f"o{i}"] for i in range(5)] == ["a", "b", "a", "b", "a"]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(query=random_queries(), nodes=node_lists)
def test_every_operator_is_on_one_node_and_nodes_have_as_many(
    pattern: str, query: Query, nodes: list[str]
) -> None:
    graph = DataflowGraph([query])
    table = PATTERNS[pattern](graph, nodes, {})
    assert not faults(table, graph, nodes)
    counts = [len(table.on(node)) for node in nodes]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("pattern", PATTERNS)
@given(query=random_queries(), data=st.data())
def test_operators_are_where_they_may_be(pattern: str, query: Query, data: st.DataObject) -> None:
    graph = DataflowGraph([query])
    some = st.frozensets(st.sampled_from(NODES), min_size=1)
    eligible = {ref: data.draw(some) for ref in graph.operators if data.draw(st.booleans())}
    table = PATTERNS[pattern](graph, NODES, eligible)
    assert all(table[ref] in nodes for ref, nodes in eligible.items())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_operator_that_may_run_nowhere_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match="operator q/o0 may run on x, none of which is among the nodes"):
        PATTERNS[pattern](DataflowGraph([row(2)]), ["a"], {("q", "o0"): frozenset("x")})
    with pytest.raises(ValueError, match="no node to distribute operators to"):
        PATTERNS[pattern](DataflowGraph([row(2)]), [], {})


@settings(max_examples=30)
@given(query=random_queries(most=4), nodes=st.integers(1, 3).map(lambda n: NODES[:n]))
def test_no_even_distribution_has_fewer_connections_than_the_best_of_all(
    query: Query, nodes: list[str]
) -> None:
    """Brute force: grouping is never below the least, and for a row of filters it is the least."""
    graph = DataflowGraph([query])
    least = min(
        len(connections(DistributionTable(dict(zip(graph.operators, places, strict=True))), graph))
        for places in product(nodes, repeat=len(graph.operators))
        if max(places.count(n) for n in nodes) - min(places.count(n) for n in nodes) <= 1
    )
    used = len(connections(grouping(graph, nodes), graph))
    assert used >= least
    is_row = all(len(graph.parents[ref]) <= 1 and len(op.inputs) == 1 for ref, op in graph.operators.items())
    if is_row and len(graph.streams[next(iter(graph.operators))]) == 1:
        rows = sum(not graph.children[ref] for ref in graph.operators)
        assert rows > 1 or used == least


def test_plan_2_has_the_papers_connections() -> None:
    """17 in 12 pieces by round robin, up to 15 on a machine; 8 by grouping, at most 5 on a machine."""
    graph = DataflowGraph(queries_of(PLANS[1]))
    spread = round_robin(graph, NODES[:2])
    assert len(connections(spread, graph, deliveries=False)) == 17
    assert len(pieces(spread, graph)) == 12
    assert max(connections_by_node(spread, graph).values()) == 15
    grouped = grouping(graph, NODES[:3])
    assert len(connections(grouped, graph, deliveries=False)) == 8
    assert max(connections_by_node(grouped, graph).values()) <= 5


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"plan-{plan.number}")
def test_the_plans_have_the_papers_sizes(plan) -> None:
    graph = DataflowGraph(queries_of(plan))

    def depth(ref: tuple[str, str]) -> int:
        return 1 + max((depth(child) for child in graph.children[ref]), default=0)

    assert len(graph.operators) == plan.operators
    assert sum(op.stateful for op in graph.operators.values()) == plan.joins
    assert {depth(root) for root in graph.roots} == {plan.depth}
    assert sum(map(len, graph.streams.values())) == plan.breadth
    assert len(graph.roots) == plan.copies


@pytest.mark.parametrize("plan", PLANS[1:], ids=lambda plan: f"plan-{plan.number}")
@pytest.mark.parametrize("machines", [2, 3, 4, 5])
def test_grouping_needs_fewer_connections_than_round_robin(plan, machines: int) -> None:
    graph, nodes = DataflowGraph(queries_of(plan)), [f"n{i}" for i in range(machines)]
    assert len(connections(grouping(graph, nodes), graph)) < len(
        connections(round_robin(graph, nodes), graph)
    )
