"""Statistics and cost models: the equations, what adds up to what, and that nights are no degradation."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.adaptation.cost_models import (
    COST_MODELS,
    BacklogCost,
    CostModel,
    CpuCost,
    MemoryCost,
    NetworkOutputCost,
    NodeCapacity,
    RunningState,
    WeightedCost,
)
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import DistributionTable
from weir_placement.adaptation.manager_tiers import tier_nodes
from weir_placement.adaptation.statistics import (
    OperatorStatistics,
    expected_statistics,
    stateful_cost,
    stateless_cost,
)
from weir_placement.bench.dcape_plans import PLANS, queries_of, streams_of
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES, Flow
from weir_placement.model.cluster import Node
from weir_placement.model.operators import Filter, Join, Window

from tests.adaptation.random_queries import random_queries, row

rates = st.floats(0.5, 1000)
MODELS: list[CostModel] = [*COST_MODELS.values(), WeightedCost([(MemoryCost(), 1.0), (CpuCost(), 3.0)])]


@st.composite
def states(draw: st.DrawFn) -> RunningState:
    graph = DataflowGraph([draw(random_queries(most=5))])
    nodes = draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True))
    statistics = {}
    for ref, op in graph.operators.items():
        arriving = tuple(draw(rates) for _ in op.inputs)
        share = draw(st.floats(0, 1))
        processed = tuple(share * rate for rate in arriving)
        state = tuple(draw(rates) for _ in op.inputs) if op.stateful else ()
        queued, cost, output = draw(rates), draw(rates), share * draw(rates)
        statistics[ref] = OperatorStatistics(arriving, processed, output, state, queued, cost)
    sent = draw(st.sampled_from([inf, 500.0]))
    capacities = {node: NodeCapacity(draw(rates), draw(rates), sent) for node in nodes}
    table = DistributionTable({ref: draw(st.sampled_from(nodes)) for ref in graph.operators})
    return RunningState(graph, table, statistics, capacities)


@given(r1=rates, r2=rates, width=st.floats(0.1, 60), selectivity=st.floats(0, 1))
def test_equation_3_is_the_models_cost_of_a_join(
    r1: float, r2: float, width: float, selectivity: float
) -> None:
    """With s_i = w r_i, omega = c = c_o, rho = c_p and purging as a part of c."""
    windows = (Window("a", "b", -round(width * 1e6), round(width * 1e6)),)
    op = Join(
        "j", ("a", "b"), windows=windows, selectivity=selectivity, cost=2.0, cost_pair=0.5, cost_out=2.0
    )
    inputs = [Flow(Load.of(rate), {}, 1.0) for rate in (r1, r2)]
    output = RULES["join"].output(op, inputs)
    states = (op.half_width * r1, op.half_width * r2)
    cost = stateful_cost((r1, r2), states, output(1.0), queue=2.0, purge=0.0, predicate=0.5)
    assert cost == pytest.approx(RULES["join"].cpu(op, inputs, output)(1.0))


@given(n=rates, selectivity=st.floats(0, 1), queue=st.floats(0, 10), predicate=st.floats(0, 10))
def test_equations_1_and_2_are_one(n: float, selectivity: float, queue: float, predicate: float) -> None:
    out = selectivity * n
    first = n * queue + predicate * n + out * queue
    assert stateless_cost(n, out, queue, predicate) == pytest.approx(first)


def test_a_nodes_memory_is_what_its_tuples_fill() -> None:
    """4,000 and 1,000 tuples of 10,000."""
    graph = DataflowGraph([row(2)])
    reported = {
        ("q", "o0"): OperatorStatistics((1.0,), (1.0,), 1.0, (3000.0,), 1000.0),
        ("q", "o1"): OperatorStatistics((1.0,), (1.0,), 1.0, (1000.0,)),
    }
    capacities = {node: NodeCapacity(10_000.0, 1.0) for node in "ab"}
    table = DistributionTable({("q", "o0"): "a", ("q", "o1"): "a"})
    costs = MemoryCost().table(RunningState(graph, table, reported, capacities))
    assert costs.nodes == {"a": 0.5, "b": 0.0}
    assert costs.operators == {("q", "o0"): 0.4, ("q", "o1"): 0.1}


def test_network_output_is_of_operators_whose_output_leaves() -> None:
    """Equations 4 and 5: o0 sends 30 to b, o1 and o2 are together, and o2's 10 are delivered."""
    graph = DataflowGraph([row(3)])
    outputs = {"o0": 30.0, "o1": 20.0, "o2": 10.0}
    reported = {("q", op): OperatorStatistics((40.0,), (40.0,), out) for op, out in outputs.items()}
    table = DistributionTable({("q", "o0"): "a", ("q", "o1"): "b", ("q", "o2"): "b"})
    limited = {node: NodeCapacity(1.0, 1.0, sent=100.0) for node in "ab"}
    costs = NetworkOutputCost().table(RunningState(graph, table, reported, limited))
    assert costs.nodes == {"a": pytest.approx(0.3), "b": pytest.approx(0.1)}
    assert costs.share(("q", "o1"), "b") == 0.0
    assert costs.share(("q", "o2"), "b") == 1.0
    unknown = {node: NodeCapacity(1.0, 1.0) for node in "ab"}
    costs = NetworkOutputCost().table(RunningState(graph, table, reported, unknown))
    assert costs.nodes == {"a": pytest.approx(0.75), "b": pytest.approx(0.25)}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@settings(max_examples=25)
@given(state=states())
def test_the_costs_of_a_nodes_operators_add_up_to_its_own(model: CostModel, state: RunningState) -> None:
    costs = model.table(state)
    assert costs.nodes.keys() == state.capacities.keys()
    for node, cost in costs.nodes.items():
        assert cost == pytest.approx(sum(costs.operators[ref] for ref in state.table.on(node)))
        assert cost >= 0.0
        shares = sum(costs.share(ref, node) for ref in state.table.on(node))
        assert shares == pytest.approx(1.0 if cost else 0.0)
    assert model.strain(state).keys() == state.capacities.keys()


@settings(max_examples=25)
@given(state=states(), weight=st.floats(0.1, 5))
def test_a_weighted_sum_lies_between_its_models(state: RunningState, weight: float) -> None:
    both = WeightedCost([(CpuCost(), weight), (BacklogCost(), 1.0)])
    cpu, backlog, mixed = (m.table(state).nodes for m in (CpuCost(), BacklogCost(), both))
    for node, cost in mixed.items():
        low, high = sorted((cpu[node], backlog[node]))
        assert low - 1e-9 * high <= cost <= high * (1 + 1e-9)
    alone = WeightedCost([(CpuCost(), weight), (BacklogCost(), 0.0)])
    assert alone.table(state).nodes == pytest.approx(cpu)
    assert alone.strain(state) == pytest.approx(CpuCost().strain(state))


@pytest.mark.parametrize("weights", [(), (0.0,), (-1.0, 2.0)])
def test_weights_must_be_some(weights: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="each must be at least 0 and one above it"):
        WeightedCost([(CpuCost(), weight) for weight in weights])


def test_a_night_is_no_degradation_of_the_output() -> None:
    """The output of plan 2 falls to below a twentieth with a tenth of the rate, as joins multiply rates; all
    of it is processed, and no node is strained. A node that processes half of what arrives is."""
    queries = queries_of(PLANS[1])
    graph, streams = DataflowGraph(queries), streams_of(queries)
    table = DistributionTable({ref: f"n{i % 3}" for i, ref in enumerate(graph.operators)})
    capacities = {f"n{i}": NodeCapacity(1e6, 1e6, 1e6) for i in range(3)}
    day = expected_statistics(queries, streams, {})
    night = expected_statistics(queries, streams, {name: s.rate / 10 for name, s in streams.items()})
    model = NetworkOutputCost()
    sent = [max(model.table(RunningState(graph, table, s, capacities)).nodes.values()) for s in (day, night)]
    assert sent[1] < sent[0] / 20
    for statistics in (day, night):
        assert max(model.strain(RunningState(graph, table, statistics, capacities)).values()) < 1e-9
    half = {
        ref: OperatorStatistics(s.arriving, tuple(n / 2 for n in s.processed), s.output / 2)
        if table[ref] == "n0"
        else s
        for ref, s in night.items()
    }
    strain = model.strain(RunningState(graph, table, half, capacities))
    assert strain["n0"] >= 0.5
    assert max(strain["n1"], strain["n2"]) < 1e-9


def test_what_stalls_before_another_operator_of_its_node_strains_it() -> None:
    """o0 reads a quarter, and o1, on the same node, all that o0 gives it: a quarter of what is due leaves."""
    graph = DataflowGraph([row(2)])
    reported = {
        ("q", "o0"): OperatorStatistics((40.0,), (10.0,), 10.0),
        ("q", "o1"): OperatorStatistics((10.0,), (10.0,), 10.0),
    }
    capacities = {node: NodeCapacity(1.0, 1.0) for node in "ab"}
    together = DistributionTable({("q", "o0"): "a", ("q", "o1"): "a"})
    state = RunningState(graph, together, reported, capacities)
    assert NetworkOutputCost().strain(state) == {"a": 0.75, "b": 0.0}
    apart = state.distributed(DistributionTable({("q", "o0"): "a", ("q", "o1"): "b"}))
    assert NetworkOutputCost().strain(apart) == {"a": 0.75, "b": 0.0}
    nothing = {**reported, ("q", "o0"): OperatorStatistics((40.0,), (0.0,), 0.0)}
    stalled = RunningState(graph, together, nothing, capacities)
    assert NetworkOutputCost().strain(stalled) == {"a": 1.0, "b": 0.0}


def test_a_tiers_manager_sees_its_own_nodes() -> None:
    nodes = [Node(name, 1, labels={"site": name[0]}) for name in ("x1", "x2", "y1")]
    tiers = tier_nodes(nodes, "site")
    assert tiers == {"x": frozenset({"x1", "x2"}), "y": frozenset({"y1"})}
    with pytest.raises(ValueError, match="node z has no label site"):
        tier_nodes([Node("z", 1)], "site")
    graph = DataflowGraph([row(2)])
    reported = {ref: OperatorStatistics((1.0,), (1.0,), 1.0, (5.0,)) for ref in graph.operators}
    capacities = {node.name: NodeCapacity(10.0, 1.0) for node in nodes}
    table = DistributionTable({("q", "o0"): "x1", ("q", "o1"): "y1"})
    state = RunningState(graph, table, reported, capacities).within(tiers["x"])
    for model in MODELS:
        assert set(model.table(state).nodes) == {"x1", "x2"}
        assert set(model.table(state).operators) == {("q", "o0")}
        assert set(model.strain(state)) == {"x1", "x2"}


def test_expected_statistics_have_what_operators_keep() -> None:
    queries = queries_of(PLANS[0])
    reported = expected_statistics(queries, streams_of(queries), {})
    joins = [op for op in queries[0].operators if isinstance(op, Join)]
    first = reported[queries[0].name, joins[0].id]
    assert first.arriving == (40.0, 40.0)
    assert first.state == (400.0, 400.0)
    assert first.selectivity == pytest.approx(2.0)
    assert reported[queries[0].name, joins[-1].id].selectivity == pytest.approx(2.0)
    assert not any(isinstance(op, Filter) for op in queries[0].operators)
