"""Balance and degradation with each parameter of table 5 and each cost model."""

from collections.abc import Iterable
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.adaptation.connections import connections
from weir_placement.adaptation.cost_models import (
    BacklogCost,
    CostModel,
    CpuCost,
    MemoryCost,
    NetworkOutputCost,
    NodeCapacity,
    RunningState,
)
from weir_placement.adaptation.dataflow_graph import DataflowGraph
from weir_placement.adaptation.distribution_table import Differences, DistributionTable
from weir_placement.adaptation.policies import POLICIES, BalancePolicy, DegradationPolicy, PolicyInput
from weir_placement.adaptation.redistribution_parameters import RedistributionParameters
from weir_placement.adaptation.statistics import OperatorStatistics

from tests.adaptation.random_queries import row
from tests.adaptation.strained import ALL_MODELS, SIZES, TABLE, policy_input, strained_state

MATRIX = [pytest.param(p, m, id=f"{p}-{m.name}") for p, m in product(POLICIES, ALL_MODELS)]
ON_A = {ref for ref, node in TABLE.nodes.items() if node == "a"}


def proposals(policy: str, model: CostModel, parameters: RedistributionParameters) -> list[Differences]:
    return list(POLICIES[policy].proposals(policy_input(model, parameters)))


def moves(all_proposals: Iterable[Differences]) -> set[tuple[tuple[str, str], str]]:
    return {move for each in all_proposals for move in each.items()}


@pytest.mark.parametrize(("policy", "model"), MATRIX)
def test_cost_table(policy: str, model: CostModel) -> None:
    """What costs most by the table is relieved: first of all an operator of `a` goes elsewhere."""
    assert model.table(strained_state()).highest == "a"
    proposed = proposals(policy, model, RedistributionParameters(0.0))
    ((ref, node),) = proposed[-1 if policy == "balance" else 0].items()
    assert ref in ON_A
    assert node in {"b", "c"}


@pytest.mark.parametrize(("policy", "model"), MATRIX)
def test_percent_difference(policy: str, model: CostModel) -> None:
    state = strained_state()
    costs = model.table(state).nodes
    rise = max(model.strain(state).values())
    difference = 100.0 * (max(costs.values()) - min(costs.values()) if policy == "balance" else rise)
    assert proposals(policy, model, RedistributionParameters(0.99 * difference))
    assert not proposals(policy, model, RedistributionParameters(min(1.01 * difference, 100.0)))
    assert not proposals(policy, model, RedistributionParameters(100.0))


@pytest.mark.parametrize(("policy", "model"), MATRIX)
def test_eligible_operators(policy: str, model: CostModel) -> None:
    only = RedistributionParameters(0.0, eligible_operators=frozenset({("r", "o0")}))
    assert {ref for ref, _ in moves(proposals(policy, model, only))} == {("r", "o0")}
    none = RedistributionParameters(0.0, eligible_operators=frozenset())
    assert not proposals(policy, model, none)


@pytest.mark.parametrize(("policy", "model"), MATRIX)
def test_eligible_processors(policy: str, model: CostModel) -> None:
    only = RedistributionParameters(0.0, eligible_processors=frozenset("c"))
    assert {node for _, node in moves(proposals(policy, model, only))} == {"c"}
    assert not proposals(policy, model, RedistributionParameters(0.0, eligible_processors=frozenset()))


@pytest.mark.parametrize(("policy", "model"), MATRIX)
def test_state_size(policy: str, model: CostModel) -> None:
    small = RedistributionParameters(0.0, largest_state=SIZES["p"])
    assert {ref for ref, _ in moves(proposals(policy, model, small))} == {("p", "o0")}
    between = RedistributionParameters(0.0, smallest_state=150.0, largest_state=250.0)
    assert {ref for ref, _ in moves(proposals(policy, model, between))} == {("r", "o0")}
    assert not proposals(policy, model, RedistributionParameters(0.0, smallest_state=1e6))


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.name)
def test_degradation_is_of_nodes_that_got_worse(model: CostModel) -> None:
    """A node that is as strained as when operators were allocated on it stays as it is."""
    given_ = policy_input(model, RedistributionParameters(0.0))
    usual = model.strain(given_.state)
    same = PolicyInput(given_.state, model, given_.parameters, usual)
    assert not list(DegradationPolicy().proposals(same))
    assert not list(DegradationPolicy().proposals(PolicyInput(given_.state, model, given_.parameters, {})))


def test_degradation_prefers_what_takes_a_connection_away_then_what_costs_most() -> None:
    """On `a`, q/o0 costs most. Each of the three saves a connection where its parent is."""
    given_ = policy_input(CpuCost(), RedistributionParameters(0.0))
    ranked = [next(iter(each.items())) for each in DegradationPolicy().proposals(given_)]
    assert ranked[:3] == [(("q", "o0"), "b"), (("r", "o0"), "c"), (("p", "o0"), "b")]
    counts = [len(connections(TABLE.with_moves({ref: node}), given_.state.graph)) for ref, node in ranked]
    assert counts == sorted(counts)
    assert counts[0] == len(connections(TABLE, given_.state.graph)) - 1


def test_output_alone_would_degrade_every_night_and_output_over_input_does_not() -> None:
    """All is processed; the rates fall to a tenth. The literal output falls by 90 %."""
    state = strained_state()
    served = {
        ref: OperatorStatistics(s.processed, s.processed, s.output) for ref, s in state.statistics.items()
    }
    night = {
        ref: OperatorStatistics((s.processed[0] / 10,), (s.processed[0] / 10,), s.output / 10)
        for ref, s in state.statistics.items()
    }
    model, parameters = NetworkOutputCost(), RedistributionParameters(10.0)
    by_day = RunningState(state.graph, state.table, served, state.capacities)
    by_night = RunningState(state.graph, state.table, night, state.capacities)
    output = [model.table(each).nodes["a"] for each in (by_day, by_night)]
    assert output[1] == pytest.approx(output[0] / 10)
    given_ = PolicyInput(by_night, model, parameters, model.strain(by_day))
    assert not list(DegradationPolicy().proposals(given_))


@st.composite
def loaded(draw: st.DrawFn) -> RunningState:
    """Operators of known CPU costs on three equal nodes."""
    graph = DataflowGraph([row(draw(st.integers(1, 6)))])
    statistics = {
        ref: OperatorStatistics((1.0,), (1.0,), 1.0, cost=float(draw(st.integers(0, 20))))
        for ref in graph.operators
    }
    nodes = ["a", "b", "c"]
    table = DistributionTable({ref: draw(st.sampled_from(nodes)) for ref in graph.operators})
    return RunningState(graph, table, statistics, {n: NodeCapacity(1.0, 50.0, inf) for n in nodes})


@settings(max_examples=60)
@given(state=loaded())
def test_balance_ends_where_no_single_move_from_the_highest_to_the_lowest_helps(state: RunningState) -> None:
    """Brute force at the end; on the way no cost rises above the highest."""
    model, parameters = CpuCost(), RedistributionParameters(0.0)
    before = model.table(state).nodes
    all_proposals = list(BalancePolicy().proposals(PolicyInput(state, model, parameters, {})))
    after_state = state.distributed(state.table.with_moves(all_proposals[0])) if all_proposals else state
    costs = model.table(after_state)
    assert max(costs.nodes.values()) <= max(before.values()) + 1e-9
    for each in all_proposals:
        partly = model.table(state.distributed(state.table.with_moves(each))).nodes
        assert sorted(partly.values(), reverse=True) < sorted(before.values(), reverse=True)
    high, low = costs.highest, costs.lowest
    for ref in after_state.table.on(high):
        moved = model.table(after_state.distributed(after_state.table.with_moves({ref: low}))).nodes
        assert max(moved[high], moved[low]) >= costs.nodes[high] - 1e-6


@settings(max_examples=60)
@given(state=loaded())
def test_balance_leaves_a_node_between_the_two_alone(state: RunningState) -> None:
    """Its first move is from the highest to the lowest."""
    given_ = PolicyInput(state, CpuCost(), RedistributionParameters(0.0), {})
    all_proposals = list(BalancePolicy().proposals(given_))
    if all_proposals:
        costs = CpuCost().table(state)
        ((ref, node),) = all_proposals[-1].items()
        assert costs.nodes[state.table[ref]] == max(costs.nodes.values())
        assert costs.nodes[node] == min(costs.nodes.values())


@pytest.mark.parametrize("percent", [-1.0, 101.0, float("nan")])
def test_a_percentage_is_from_0_to_100(percent: float) -> None:
    with pytest.raises(ValueError, match=r"must be from 0 \(always\) to 100 \(never\)"):
        RedistributionParameters(percent)


def test_a_range_of_sizes_is_not_empty() -> None:
    with pytest.raises(ValueError, match="from 5 to 4 tuples; the first must not be above the second"):
        RedistributionParameters(smallest_state=5, largest_state=4)


def test_models_disagree_on_what_is_full() -> None:
    """So the choice of a model matters: by memory and by backlog `a` differs."""
    state = strained_state()
    assert MemoryCost().table(state).nodes["a"] != BacklogCost().table(state).nodes["a"]
