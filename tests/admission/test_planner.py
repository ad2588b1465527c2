"""Whatever comes and goes: plans are feasible, who is admitted stays, equal runs give equal plans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.admission.allocation import Allocation
from weir_placement.admission.objective import Weights, moves
from weir_placement.admission.planner import AdmissionVerdict, SqprPlanner
from weir_placement.admission.preemption import submit_with_preemption
from weir_placement.admission.replanning import replan
from weir_placement.admission.request import StreamRequest
from weir_placement.admission.solve import SolverLimits
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem
from weir_placement.admission.waiting import WaitingQueries
from weir_placement.admission.walk import walk

from tests.admission.random_systems import systems

NO_TIME = SolverLimits(work=1e-9)


def check(planner: SqprPlanner) -> None:
    """No capacity is exceeded, every admitted query is derived, nothing is there for nobody."""
    met = walk(planner.system, planner.allocation)
    assert met.flaws == []
    assert met.idle == set()
    copies: dict[int, int] = {}
    for request in planner.requests.values():
        copies[request.stream] = max(copies.get(request.stream, 0), request.copies)
    assert {query: len(hosts) for query, hosts in planner.allocation.served.items()} == copies


@st.composite
def histories(draw):
    """A system, and what happens: queries that come in batches, and go."""
    system = draw(systems(hosts=3, bases=3))
    steps = []
    for number in range(draw(st.integers(2, 6))):
        stream = st.integers(0, len(system.streams) - 1)
        if steps and draw(st.integers(0, 3)) == 0:
            steps.append(draw(st.integers(0, number - 1)))
        else:
            request = st.tuples(stream, st.integers(0, 2), st.integers(1, 2))
            steps.append(draw(st.lists(request, min_size=1, max_size=2)))
    return system, steps


def play(system: StreamSystem, steps, planner: SqprPlanner) -> list[AdmissionVerdict]:
    """Everything that happens, each step checked."""
    verdicts: list[AdmissionVerdict] = []
    for number, step in enumerate(steps):
        before = set(planner.requests)
        if isinstance(step, int):
            gone = {name for name in before if name.startswith(f"{step}-")}
            planner.withdraw(gone)
            assert set(planner.requests) == before - gone
        else:
            batch = [StreamRequest(f"{number}-{n}", s, p, c) for n, (s, p, c) in enumerate(step)]
            verdicts += planner.submit(*batch)
            assert before <= set(planner.requests)
        check(planner)
    return verdicts


@given(histories())
@settings(max_examples=60)
def test_every_plan_is_feasible_and_nobody_is_dropped(history) -> None:
    system, steps = history
    play(system, steps, SqprPlanner(system, Weights(move=0.1)))
    play(system, steps, SqprPlanner(system, solver=False))
    play(system, steps, SqprPlanner(system, most_hosts=2))


@given(histories())
@settings(max_examples=25)
def test_equal_seeds_give_equal_plans(history) -> None:
    system, steps = history
    planners = [SqprPlanner(system, limits=SolverLimits(seed=7)) for _ in range(2)]
    first, second = (play(system, steps, planner) for planner in planners)
    assert [replace(v, seconds=0.0) for v in first] == [replace(v, seconds=0.0) for v in second]
    assert planners[0].allocation == planners[1].allocation


@given(histories())
@settings(max_examples=25)
def test_a_solver_without_time_refuses_nothing_that_the_heuristic_admits(history) -> None:
    system, steps = history
    steps = [step for step in steps if not isinstance(step, int)][:1]
    greedy = play(system, steps, SqprPlanner(system, solver=False))
    hurried = play(system, steps, SqprPlanner(system, limits=NO_TIME))
    assert all(b.admitted for a, b in zip(greedy, hurried, strict=True) if a.admitted)


@given(histories())
@settings(max_examples=25)
def test_when_all_have_gone_nothing_runs(history) -> None:
    system, steps = history
    planner = SqprPlanner(system, solver=False)
    play(system, steps, planner)
    planner.withdraw(list(planner.requests))
    assert planner.allocation == Allocation()


@given(histories())
@settings(max_examples=25)
def test_a_refusal_names_what_would_let_the_query_in(history) -> None:
    system, steps = history
    planner = SqprPlanner(system)
    play(system, steps[:-1], planner)
    request = StreamRequest("last", len(system.streams) - 1)
    if planner.submit(request)[0].admitted:
        return
    rejection = planner.explain(request)
    assert rejection.short
    names = {"CPU": "cpu"}
    hosts = {host.name: host for host in system.hosts}
    numbers = {host.name: number for number, host in enumerate(system.hosts)}
    bandwidth = None if system.bandwidth is None else system.bandwidth.copy()
    for short in rejection.short:
        if len(short.nodes) == 2:
            bandwidth[numbers[short.nodes[0]], numbers[short.nodes[1]]] += short.missing
        else:
            resource = names.get(short.resource, short.resource)
            host = hosts[short.nodes[0]]
            hosts[host.name] = replace(host, **{resource: getattr(host, resource) + short.missing})
    planner.system = replace(system, hosts=tuple(hosts.values()), bandwidth=bandwidth)
    assert planner.submit(request)[0].admitted, rejection.reason
    check(planner)


def filters(*cpu: float, room: float = 10.0, hosts: int = 1) -> StreamSystem:
    """One base stream everywhere, and filters of it that cost so much."""
    base = DataStream("A", 1, frozenset(range(hosts)))
    streams = (base, *(DataStream(f"f{number}", 1) for number in range(1, len(cpu) + 1)))
    operators = tuple(SharedOperator((0,), number, cost) for number, cost in enumerate(cpu, 1))
    return StreamSystem(tuple(HostResources(f"h{n}", room) for n in range(hosts)), streams, operators)


def test_a_name_is_admitted_once() -> None:
    planner = SqprPlanner(filters(1), solver=False)
    planner.submit(StreamRequest("q", 1))
    with pytest.raises(ValueError, match="query q: there is one of this name"):
        planner.submit(StreamRequest("q", 1))


def test_a_batch_goes_by_priority() -> None:
    planner = SqprPlanner(filters(6, 4, 4, 7))
    low = [StreamRequest(f"low{n}", n) for n in (1, 2, 3)]
    verdicts = planner.submit(*low, StreamRequest("high", 4, priority=1))
    assert [v.admitted for v in verdicts] == [False, False, False, True]


def test_equal_queries_share_one_plan_until_the_last_goes() -> None:
    planner = SqprPlanner(filters(6), solver=False)
    assert [v.by for v in planner.submit(StreamRequest("q", 1))] == ["sqpr-heuristic"]
    assert [v.by for v in planner.submit(StreamRequest("r", 1))] == ["reuse"]
    planner.withdraw(["q"])
    assert set(planner.allocation.served) == {1}
    planner.withdraw(["r"])
    assert planner.allocation == Allocation()


def test_more_copies_that_there_is_no_room_for_leave_the_first_as_it_is() -> None:
    planner = SqprPlanner(filters(6))
    one, two = planner.submit(StreamRequest("one", 1)) + planner.submit(StreamRequest("two", 1, copies=2))
    assert (one.admitted, two.admitted) == (True, False)
    check(planner)


# preemption


@pytest.mark.parametrize(("priority", "ended"), [(0, None), (1, ["b"]), (3, ["b"])])
def test_the_least_is_ended_and_nothing_of_equal_priority(priority: int, ended: list[str] | None) -> None:
    planner = SqprPlanner(filters(3, 3, 4, 3))
    planner.submit(StreamRequest("a", 1, 2), StreamRequest("b", 2, 0), StreamRequest("c", 3, 1))
    result = submit_with_preemption(planner, StreamRequest("new", 4, priority))
    assert result.verdict.admitted == (ended is not None)
    assert [request.name for request in result.ended] == (ended or [])
    check(planner)


def test_queries_that_can_be_put_back_are() -> None:
    """The two lowest would go first; the third makes room alone."""
    planner = SqprPlanner(filters(1, 2, 7, 7))
    planner.submit(StreamRequest("a", 1, 0), StreamRequest("b", 2, 0), StreamRequest("c", 3, 1))
    result = submit_with_preemption(planner, StreamRequest("new", 4, 2))
    assert [request.name for request in result.ended] == ["c"]
    assert set(planner.requests) == {"a", "b", "new"}


def test_who_cannot_be_helped_by_preemption_ends_nobody() -> None:
    planner = SqprPlanner(filters(3, 11))
    planner.submit(StreamRequest("a", 1))
    before = planner.allocation
    assert submit_with_preemption(planner, StreamRequest("new", 2, 9)).ended == ()
    assert (planner.allocation, set(planner.requests)) == (before, {"a"})


def test_who_is_safe_is_not_ended() -> None:
    planner = SqprPlanner(filters(6, 6))
    planner.submit(StreamRequest("a", 1))
    new = StreamRequest("new", 2, 9)
    assert not submit_with_preemption(planner, new, safe=frozenset({"a"})).verdict.admitted
    assert not submit_with_preemption(planner, new, margin=10).verdict.admitted
    with pytest.raises(ValueError, match="margin is 0; it must be 1 or more"):
        submit_with_preemption(planner, new, margin=0)


@given(histories(), st.integers(1, 3))
@settings(max_examples=25)
def test_of_those_that_were_ended_none_could_have_stayed(history, priority: int) -> None:
    system, steps = history
    planner = SqprPlanner(system)
    play(system, steps, planner)
    before = dict(planner.requests)
    result = submit_with_preemption(planner, StreamRequest("new", len(system.streams) - 1, priority))
    check(planner)
    assert all(request.priority < priority for request in result.ended)
    assert set(before) - {request.name for request in result.ended} <= set(planner.requests)
    for request in result.ended:
        assert not planner.submit(request)[0].admitted


# replanning


def test_a_host_that_is_lost_sends_its_queries_elsewhere_or_drops_the_least() -> None:
    system = filters(6, 6, 4, hosts=2)
    planner = SqprPlanner(system)
    planner.submit(StreamRequest("a", 1, 1), StreamRequest("b", 2, 0), StreamRequest("c", 3, 2))
    lost = replace(system, hosts=(system.hosts[0], replace(system.hosts[1], cpu=0.0)))
    result = replan(planner, lost)
    assert [request.name for request in result.dropped] == ["b"]
    assert set(planner.requests) == {"a", "c"}
    check(planner)


def test_a_query_that_still_fits_stays_where_it_is() -> None:
    system = filters(3, 4, hosts=2)
    planner = SqprPlanner(system, Weights(move=0.5))
    planner.submit(StreamRequest("a", 1), StreamRequest("b", 2))
    before = planner.allocation
    dearer = replace(system, operators=(replace(system.operators[0], cpu=5.0), system.operators[1]))
    result = replan(planner, dearer)
    assert [v.query for v in result.verdicts] == ["a"]
    assert moves(before, planner.allocation) == 0
    assert replan(planner, dearer).verdicts == ()


@given(histories(), st.data())
@settings(max_examples=40)
def test_after_every_change_plans_are_feasible(history, data) -> None:
    system, steps = history
    planner = SqprPlanner(system, Weights(move=0.2), solver=data.draw(st.booleans()))
    play(system, steps, planner)
    before = dict(planner.requests)
    hosts = tuple(
        replace(host, cpu=data.draw(st.sampled_from([0.0, 2.0, host.cpu]))) for host in system.hosts
    )
    streams = tuple(replace(s, rate=data.draw(st.sampled_from([s.rate, 2 * s.rate]))) for s in system.streams)
    result = replan(planner, replace(system, hosts=hosts, streams=streams))
    check(planner)
    assert set(planner.requests) == set(before) - {request.name for request in result.dropped}


# waiting


def test_waiting_queries_are_tried_when_something_was_freed_and_not_before() -> None:
    planner = SqprPlanner(filters(6, 6, 5))
    planner.submit(StreamRequest("a", 1))
    waiting = WaitingQueries()
    for request in (StreamRequest("b", 2), StreamRequest("c", 3, priority=1)):
        assert not planner.submit(request)[0].admitted
        waiting.add(planner, request)
    assert waiting.retry(planner) == []
    planner.withdraw(["a"])
    assert [(v.query, v.admitted) for v in waiting.retry(planner)] == [("c", True), ("b", False)]
    assert waiting.retry(planner) == []
    planner.system = replace(planner.system, hosts=(HostResources("h0", 11.0),))
    assert [(v.query, v.admitted) for v in waiting.retry(planner)] == [("b", True)]
    assert waiting.requests == []
