"""What the program admits and what its plan is worth, against every plan that there is."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.admission.allocation import Allocation, MadeBy
from weir_placement.admission.heuristic import sqpr_heuristic
from weir_placement.admission.objective import Weights, worth
from weir_placement.admission.planner import SqprPlanner
from weir_placement.admission.program import AdmissionProgram
from weir_placement.admission.region import region
from weir_placement.admission.request import Demand, StreamRequest
from weir_placement.admission.solve import SolverLimits, solve
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem
from weir_placement.admission.walk import walk

from tests.admission.every_plan import best_plans, every_plan
from tests.admission.random_systems import composites, systems

WEIGHTS = st.sampled_from([Weights(), Weights(cpu=0.0, balance=2.0), Weights(network=2.0, balance=0.0)])


@given(systems(hosts=2, bases=3), WEIGHTS)
@settings(max_examples=20)
def test_the_first_query_has_the_best_plan_or_there_is_none(system: StreamSystem, weights: Weights) -> None:
    query = composites(system)[-1]
    planner = SqprPlanner(system, weights)
    (verdict,) = planner.submit(StreamRequest("q", query))
    admitted, value = best_plans(system, [query], weights)
    assert verdict.admitted == bool(admitted)
    assert verdict.proven
    assert worth(system, planner.allocation, weights) == pytest.approx(value, abs=2e-5)


@given(systems(hosts=3, bases=2))
@settings(max_examples=20)
def test_relays_are_used_where_they_help(system: StreamSystem) -> None:
    """A, B and AB all asked of three hosts at once: the most of them is admitted."""
    queries = [2, 0, 1]
    planner = SqprPlanner(system)
    verdicts = planner.submit(*(StreamRequest(f"q{query}", query) for query in queries))
    admitted, value = best_plans(system, queries, Weights())
    assert sum(verdict.admitted for verdict in verdicts) == admitted
    assert worth(system, planner.allocation, Weights()) == pytest.approx(value, abs=2e-5)
    assert walk(system, planner.allocation).flaws == []


@given(systems(hosts=2, bases=3))
@settings(max_examples=15)
def test_the_heuristic_makes_plans_that_there_are(system: StreamSystem) -> None:
    query = composites(system)[-1]
    plan = sqpr_heuristic(system, Allocation(), Demand(query, 0, 1), Weights())
    assert plan is None or plan in list(every_plan(system, Allocation(), query))


def test_a_relay_admits_what_its_origin_cannot_send() -> None:
    """Host a can send A once. Two operators that read A fit on no host together, nor on a."""
    hosts = (HostResources("a", 0, egress=1), HostResources("b", 1), HostResources("c", 1))
    streams = (DataStream("A", 1, frozenset({0})), DataStream("f(A)", 0.1), DataStream("g(A)", 0.1))
    system = StreamSystem(hosts, streams, (SharedOperator((0,), 1, 1), SharedOperator((0,), 2, 1)))
    planner = SqprPlanner(system)
    assert all(v.admitted for v in planner.submit(StreamRequest("f", 1), StreamRequest("g", 2)))
    assert walk(system, planner.allocation).flaws == []


def test_the_program_relays_where_hosts_cannot_send_to_all() -> None:
    """Host c can send once: B, or what it makes of B. The heuristic makes f there, and g has no place; the
    program sends B to a, from there to b."""
    hosts = (HostResources("a", 2), HostResources("b", 2), HostResources("c", 2, egress=1))
    streams = (DataStream("B", 1, frozenset({2})), DataStream("f", 1), DataStream("g", 1))
    assert_relays_help(
        StreamSystem(hosts, streams, tuple(SharedOperator((0,), n, 2) for n in (1, 2))), (1, 2)
    )


def test_the_program_relays_where_a_link_is_too_narrow() -> None:
    """Only c can make f and g, and no link leads there from a, where A and B enter."""
    hosts = (HostResources("a", 0), HostResources("b", 0), HostResources("c", 2))
    streams = (
        *(DataStream(name, 1, frozenset({0})) for name in "AB"),
        DataStream("f", 1),
        DataStream("g", 1),
    )
    links = np.array([[inf, 2, 0], [inf, inf, 2], [inf, inf, inf]])
    operators = (SharedOperator((0,), 2, 1), SharedOperator((1,), 3, 1))
    assert_relays_help(StreamSystem(hosts, streams, operators, links), (2, 3))


def assert_relays_help(system: StreamSystem, queries: tuple[int, ...]) -> None:
    """The program admits all together, the heuristic does not."""
    requests = [StreamRequest(f"q{query}", query) for query in queries]
    assert not all(verdict.admitted for verdict in SqprPlanner(system, solver=False).submit(*requests))
    planner = SqprPlanner(system)
    assert all(verdict.admitted for verdict in planner.submit(*requests))
    assert walk(system, planner.allocation).flaws == []


def test_nothing_runs_for_nobody_although_it_is_for_nothing() -> None:
    """The solver starts from a plan with an idle operator, and no weight tells it to stop that one."""
    system, demand = two_free_hosts(), Demand(1, 0, 1)
    weights = Weights(cpu=0.0, network=0.0, balance=0.0)
    program = AdmissionProgram(region(system, Allocation(), [demand]), [demand], [], weights)
    idle = Allocation({(0, 1): MadeBy(0), (1, 1): MadeBy(0)}, {1: (0,)})
    solution = solve(program, SolverLimits(), inf, idle)
    assert solution.allocation is not None
    assert len(solution.allocation.providers) == 1


def test_what_is_admitted_moves_where_that_admits_more() -> None:
    """f fits on both hosts, g only on the larger one, where the heuristic put f."""
    hosts = (HostResources("small", 1), HostResources("large", 2))
    streams = (DataStream("A", 1, frozenset({0, 1})), DataStream("f(A)", 1), DataStream("g(A)", 1))
    streams = (*streams, DataStream("h", 1))
    operators = (SharedOperator((0,), 1, 1), SharedOperator((1,), 2, 2), SharedOperator((2,), 3, 0))
    system = StreamSystem(hosts, streams, operators)
    greedy = SqprPlanner(system, solver=False)
    greedy.allocation = every_plan_on(system, 1, host=1)
    planner = SqprPlanner(system)
    planner.allocation = greedy.allocation
    assert [v.admitted for v in greedy.submit(StreamRequest("h", 3))] == [False]
    assert [v.admitted for v in planner.submit(StreamRequest("h", 3))] == [True]
    assert set(planner.allocation.served) == {1, 3}


def every_plan_on(system: StreamSystem, query: int, host: int) -> Allocation:
    """The plan that serves and makes a query at one host."""
    return next(p for p in every_plan(system, Allocation(), query) if {at[0] for at in p.providers} == {host})


def two_free_hosts() -> StreamSystem:
    hosts = (HostResources("a", 4), HostResources("b", 4))
    streams = (DataStream("A", 1, frozenset({0, 1})), DataStream("f", 1), DataStream("g", 1))
    return StreamSystem(hosts, streams, (SharedOperator((0,), 1, 2), SharedOperator((0,), 2, 2)))


@pytest.mark.parametrize(
    ("weights", "used"),
    [(Weights(balance=2, cpu=0), 2), (Weights(balance=0, cpu=1), 1)],
)
def test_weights_balance_or_consolidate(weights: Weights, used: int) -> None:
    """A third stream fg, of f and g, is made where both are; with l4 its inputs are worth sending."""
    base = two_free_hosts()
    system = StreamSystem(
        base.hosts, (*base.streams, DataStream("fg", 1)), (*base.operators, SharedOperator((1, 2), 3, 0))
    )
    planner = SqprPlanner(system, weights)
    planner.submit(StreamRequest("fg", 3))
    running = {
        host
        for (host, stream), provider in planner.allocation.providers.items()
        if stream in (1, 2) and isinstance(provider, MadeBy)
    }
    assert len(running) == used


def test_several_hosts_serve_a_stream_where_that_is_asked_for() -> None:
    planner = SqprPlanner(two_free_hosts())
    (verdict,) = planner.submit(StreamRequest("f", 1, copies=2))
    assert verdict.admitted
    assert sorted(planner.allocation.served[1]) == [0, 1]
    (verdict,) = planner.submit(StreamRequest("g", 2, copies=3))
    assert not verdict.admitted
    assert 2 not in planner.allocation.served


@given(st.lists(st.integers(1, 6), min_size=1, max_size=7), st.integers(1, 3), st.integers(6, 9))
@settings(max_examples=20)
def test_bin_packing_of_theorem_a_1(items: list[int], bins: int, size: int) -> None:
    """As many queries are admitted as items fit into the bins; corollary A.2 has one bin."""
    hosts = tuple(HostResources(f"bin{number}", size) for number in range(bins))
    base = DataStream("base", 1, frozenset({0}))
    streams = (base, *(DataStream(f"item{number}", 1) for number in range(len(items))))
    operators = tuple(SharedOperator((0,), number + 1, float(item)) for number, item in enumerate(items))
    planner = SqprPlanner(StreamSystem(hosts, streams, operators))
    verdicts = planner.submit(*(StreamRequest(f"q{n + 1}", n + 1) for n in range(len(items))))
    assert sum(verdict.admitted for verdict in verdicts) == packed(items, [size] * bins)
    assert all(verdict.proven for verdict in verdicts)


def packed(items: list[int], room: list[int]) -> int:
    """How many of the items fit."""
    if not items:
        return 0
    best = packed(items[1:], room)
    for number, free in enumerate(room):
        if items[0] <= free and free not in room[:number]:
            rest = [*room[:number], free - items[0], *room[number + 1 :]]
            best = max(best, 1 + packed(items[1:], rest))
    return best


def test_infinite_capacities_do_not_limit() -> None:
    hosts = (HostResources("a", inf),)
    streams = (DataStream("A", 1, frozenset({0})), DataStream("f", 1))
    planner = SqprPlanner(StreamSystem(hosts, streams, (SharedOperator((0,), 1, 1e12),)))
    assert planner.submit(StreamRequest("f", 1))[0].admitted
