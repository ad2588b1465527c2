"""Bounds are above what can be admitted; comparators make plans that the walk accepts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.admission.bounds import aggregate_fcfs, optimistic_bound
from weir_placement.admission.objective import Weights
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.soda import SodaPlanner
from weir_placement.admission.solve import SolverLimits
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem
from weir_placement.admission.walk import walk
from weir_placement.admission.whole_numbers import PARTS, whole_numbers

from tests.admission.every_plan import best_plans
from tests.admission.random_systems import composites, systems


@given(systems(hosts=3, bases=2))
@settings(max_examples=30)
def test_no_plan_admits_more_than_the_bounds(system: StreamSystem) -> None:
    queries = [2, 0, 1]
    admitted, _ = best_plans(system, queries, Weights())
    near = optimistic_bound(system, queries)
    assert admitted <= near <= optimistic_bound(system, queries, network=False) <= len(queries)


@given(systems(hosts=2, bases=3))
@settings(max_examples=30)
def test_no_plan_for_a_join_of_three_is_missed_by_the_bound(system: StreamSystem) -> None:
    query = composites(system)[-1]
    assert best_plans(system, [query], Weights())[0] <= optimistic_bound(system, [query])


def test_the_network_lowers_the_bound_where_it_binds() -> None:
    """Ten joins of a stream of host a with one of host b: each needs 1 byte/s received; there are 4."""
    hosts = (HostResources("a", 10, ingress=2), HostResources("b", 10, ingress=2))
    bases = [DataStream(f"{name}{n}", 1, frozenset({h})) for h, name in enumerate("AB") for n in range(10)]
    joins = [DataStream(f"AB{n}", 1) for n in range(10)]
    operators = tuple(SharedOperator((n, 10 + n), 20 + n, 1) for n in range(10))
    system = StreamSystem(hosts, (*bases, *joins), operators)
    queries = list(range(20, 30))
    assert optimistic_bound(system, queries, network=False) == 10
    assert optimistic_bound(system, queries) == 4


def test_the_aggregate_host_shares_what_runs_and_takes_the_least() -> None:
    hosts = (HostResources("a", 2), HostResources("b", 1))
    streams = (DataStream("A", 1, frozenset({0})), *(DataStream(name, 1) for name in ("f", "fg", "h")))
    operators = (SharedOperator((0,), 1, 2), SharedOperator((1,), 2, 1), SharedOperator((0,), 3, 1))
    system = StreamSystem(hosts, streams, (*operators, SharedOperator((0,), 2, 3)))
    requests = [StreamRequest(name, s) for name, s in (("f", 1), ("h", 3), ("fg", 2), ("again", 1))]
    assert aggregate_fcfs(system, requests) == [True, True, False, True]
    assert aggregate_fcfs(system, [requests[0], requests[2]]) == [True, True]


@given(systems(hosts=3, bases=3), st.booleans())
@settings(max_examples=40)
def test_soda_places_what_it_admits(system: StreamSystem, hurried: bool) -> None:
    planner = SodaPlanner(system, SolverLimits(work=1e-9) if hurried else None)
    requests = [StreamRequest(f"q{stream}", stream) for stream in range(len(system.streams))]
    first = planner.epoch(requests[: len(requests) // 2])
    second = planner.epoch(requests[len(requests) // 2 :])
    met = walk(system, planner.allocation)
    assert met.flaws == []
    assert len(planner.allocation.served) == sum(first) + sum(second)
    bound = optimistic_bound(system, [request.stream for request in requests])
    assert sum(first) + sum(second) <= bound


def test_soda_balances_loads_and_keeps_to_the_template() -> None:
    hosts = (HostResources("a", 4), HostResources("b", 4))
    base = DataStream("A", 1, frozenset({0, 1}))
    streams = (base, *(DataStream(f"f{n}", 1) for n in range(1, 5)))
    operators = (*(SharedOperator((0,), n, 2) for n in range(1, 5)), SharedOperator((0,), 4, 0))
    planner = SodaPlanner(StreamSystem(hosts, streams, operators))
    assert planner.epoch([StreamRequest(f"q{n}", n) for n in range(1, 5)]) == [True] * 4
    assert sorted(planner.runs.values()) == [0, 0, 1, 1]
    planner = SodaPlanner(replace(planner.system, hosts=(HostResources("a", 6), HostResources("b", 0))))
    assert planner.epoch([StreamRequest(f"q{n}", n) for n in range(1, 5)]) == [True, True, True, False]


LOADS = st.lists(st.floats(1e-3, 0.5), min_size=1, max_size=20)


@given(LOADS, st.floats(0.1, 1.0), st.floats(1.0, 1e9))
def test_rounding_never_lets_in_too_much_and_loses_less_than_it_says(
    loads: list[float], free: float, unit: float
) -> None:
    loads, free, capacity = [load * unit for load in loads], free * unit, unit
    counts, most, _ = whole_numbers(loads, free, capacity)
    if sum(counts) <= most:
        assert sum(loads) <= free * (1 + 1e-9)
    if sum(loads) <= free - len(loads) * capacity / PARTS - capacity / PARTS:
        assert sum(counts) <= most


@given(st.lists(st.integers(1, 30), min_size=1, max_size=9), st.sampled_from([1, 2, 3, 7, 10, 60]))
def test_loads_with_a_common_denominator_are_exact(numerators: list[int], denominator: int) -> None:
    loads = [number / denominator for number in numerators]
    for most, fits in ((sum(numerators), True), (sum(numerators) - 1, False)):
        counts, free, _ = whole_numbers(loads, most / denominator, 100.0)
        assert (sum(counts) <= free) == fits


def test_a_limit_of_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="wall is 0; it must be more than 0 seconds"):
        SolverLimits(wall=0)
