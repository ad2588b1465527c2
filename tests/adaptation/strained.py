"""A node `a` that is worse off than `b` and `c` by every cost model, for the tests of policies."""

from weir_placement.adaptation.cost_models import (
    BacklogCost,
    CostModel,
    CpuCost,
    MemoryCost,
    NetworkOutputCost,
    NodeCapacity,
    RunningState,
    WeightedCost,
)
from weir_placement.adaptation.dataflow_graph import DataflowGraph, OperatorRef
from weir_placement.adaptation.distribution_table import DistributionTable
from weir_placement.adaptation.policies import PolicyInput
from weir_placement.adaptation.redistribution_parameters import RedistributionParameters
from weir_placement.adaptation.statistics import OperatorStatistics

from tests.adaptation.random_queries import row

ALL_MODELS: list[CostModel] = [
    MemoryCost(),
    NetworkOutputCost(),
    CpuCost(),
    BacklogCost(),
    WeightedCost([(MemoryCost(), 1.0), (NetworkOutputCost(), 1.0), (CpuCost(), 2.0)]),
]
GRAPH = DataflowGraph([row(2, "p"), row(2, "q"), row(2, "r")])
TABLE = DistributionTable(
    {
        ("p", "o0"): "a",
        ("p", "o1"): "b",
        ("q", "o0"): "a",
        ("q", "o1"): "b",
        ("r", "o0"): "a",
        ("r", "o1"): "c",
    }
)
SIZES = {"p": 100.0, "q": 300.0, "r": 200.0}
"""[tuples] that the operators on `a` keep."""


def strained_state() -> RunningState:
    """`a` processes half of what arrives and keeps, sends, waits and needs most."""
    statistics: dict[OperatorRef, OperatorStatistics] = {}
    for query, size in SIZES.items():
        statistics[query, "o0"] = OperatorStatistics((80.0,), (40.0,), 40.0, (size,), size, cost=size / 80)
        statistics[query, "o1"] = OperatorStatistics((40.0,), (40.0,), 4.0, (), 0.0, cost=0.25)
    capacities = {node: NodeCapacity(2000.0, 1000.0, 200.0) for node in "abc"}
    return RunningState(GRAPH, TABLE, statistics, capacities)


def policy_input(model: CostModel, parameters: RedistributionParameters) -> PolicyInput:
    """`a` was not strained when operators were last allocated, and the others are as they were then."""
    state = strained_state()
    return PolicyInput(state, model, parameters, {**model.strain(state), "a": 0.0})
