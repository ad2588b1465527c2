"""The walk finds every kind of flaw, and none where there is none."""

from __future__ import annotations

import re

import numpy as np
import pytest
from weir_placement.admission.allocation import (
    Allocation,
    MadeBy,
    ReceivedFrom,
    only_serving,
    resource_use,
    used_by,
)
from weir_placement.admission.objective import Weights, moves, objectives, scales, worth
from weir_placement.admission.system import DataStream, HostResources, SharedOperator, StreamSystem
from weir_placement.admission.walk import walk

A, B, AB = 0, 1, 2
STREAMS = (DataStream("A", 4, frozenset({0})), DataStream("B", 2, frozenset({1})), DataStream("AB", 1))
JOIN = (SharedOperator((A, B), AB, 3.0, 5.0),)
PLAN = Allocation(
    {(2, A): ReceivedFrom(0), (2, B): ReceivedFrom(1), (2, AB): MadeBy(0), (1, AB): ReceivedFrom(2)},
    {AB: (1,)},
)


def three_hosts(bandwidth=None, **third: float) -> StreamSystem:
    hosts = (HostResources("a", 9), HostResources("b", 9), HostResources("c", **{"cpu": 9.0, **third}))
    return StreamSystem(hosts, STREAMS, JOIN, bandwidth)


def conditions(plan: Allocation, system: StreamSystem | None = None) -> list[str]:
    return [flaw.condition for flaw in walk(system or three_hosts(), plan).flaws]


def changed(**providers) -> Allocation:
    names = {"A": A, "B": B, "AB": AB}
    places = {("abc".index(key[0]), names[key[1:]]): value for key, value in providers.items()}
    return PLAN.with_changes(places, {})


def test_a_plan_over_three_hosts_has_no_flaw_up_to_its_exact_capacities() -> None:
    links = np.full((3, 3), np.inf)
    links[0, 2] = 4
    system = three_hosts(links, cpu=3.0, memory=5.0, ingress=6.0, egress=1.0)
    met = walk(system, PLAN)
    assert (met.flaws, met.idle) == ([], set())


@pytest.mark.parametrize(
    ("resource", "enough"), [("cpu", 3.0), ("memory", 5.0), ("ingress", 6.0), ("egress", 1.0)]
)
def test_each_capacity_of_a_host_counts(resource: str, enough: float) -> None:
    system = three_hosts(**{resource: enough - 0.01})
    assert conditions(PLAN, system) == [resource]


def test_each_link_counts() -> None:
    links = np.full((3, 3), np.inf)
    links[0, 2] = 3.99
    assert conditions(PLAN, three_hosts(links)) == ["link"]


def test_what_a_host_sends_to_clients_counts() -> None:
    hosts = (HostResources("a", 9, egress=0.5),)
    system = StreamSystem(hosts, (DataStream("A", 1, frozenset({0})),), ())
    assert conditions(Allocation({}, {0: (0,)}), system) == ["egress"]


def test_a_query_is_served_where_its_stream_is() -> None:
    assert conditions(Allocation(PLAN.providers, {AB: (0,)})) == ["C1"]
    assert conditions(Allocation(PLAN.providers, {AB: (1, 1)})) == ["C1"]


def test_an_operator_has_its_inputs_and_makes_its_output() -> None:
    without = {at: p for at, p in PLAN.providers.items() if at != (2, B)}
    assert conditions(Allocation(without, PLAN.served)) == ["C2"]
    assert conditions(changed(bA=MadeBy(0))) == ["C2", "circle"]  # it makes AB, of A


def test_a_relay_sends_what_it_receives() -> None:
    without = {at: p for at, p in PLAN.providers.items() if at != (2, AB)}
    assert conditions(Allocation(without, PLAN.served)) == ["C3"]


def test_streams_rest_on_base_streams() -> None:
    assert conditions(changed(cA=ReceivedFrom(1), bA=ReceivedFrom(2))) == ["circle"]
    assert "C3" in conditions(changed(cA=ReceivedFrom(2)))


def test_providers_that_serve_nobody_are_idle_and_their_load_counts() -> None:
    plan = changed(aB=ReceivedFrom(1))
    met = walk(three_hosts(), plan)
    assert (met.flaws, met.idle) == ([], {(0, B)})
    assert resource_use(three_hosts(), plan).ingress[0] == 2
    assert only_serving(three_hosts(), plan, plan.served) == PLAN
    assert only_serving(three_hosts(), plan, []) == Allocation()
    assert used_by(three_hosts(), plan, [AB]) == set(PLAN.providers)


def test_the_four_objectives_and_what_a_plan_is_worth() -> None:
    system = three_hosts()
    assert objectives(system, PLAN) == (1, 4 + 2 + 1, 3, 3)
    assert scales(system) == (7 * 3, 27, 9)
    assert worth(system, PLAN, Weights()) == pytest.approx(4 - 7 / 21 - 3 / 27 - 3 / 9)


def test_moves_are_operators_that_left_and_queries_that_others_serve() -> None:
    here = Allocation({(1, A): ReceivedFrom(0), (1, AB): MadeBy(0)}, {AB: (1,)})
    assert moves(PLAN, here) == 1
    assert moves(PLAN, PLAN) == 0
    assert moves(Allocation({}, {AB: (0,)}), here) == 1
    assert moves(PLAN, Allocation()) == 0  # deleted, not moved


def test_weights_that_would_refuse_queries_to_save_resources_are_refused() -> None:
    with pytest.raises(ValueError, match=r"admitted is 3\.0; it must be more than network \+ cpu \+ balance"):
        Weights(admitted=3.0)
    with pytest.raises(ValueError, match="balance is -1; it must be finite, 0 or more"):
        Weights(balance=-1)


def test_a_stream_is_not_made_from_itself() -> None:
    streams = (DataStream("s", 1), DataStream("t", 1))
    operators = (SharedOperator((0,), 1, 1), SharedOperator((1,), 0, 1))
    with pytest.raises(ValueError, match=r"stream \w is made from itself"):
        StreamSystem((HostResources("a", 1),), streams, operators)


@pytest.mark.parametrize(
    ("streams", "operators", "words"),
    [
        ((DataStream("A", -1),), (), "stream A: rate is -1; it must be finite, 0 or more"),
        ((DataStream("A", 1, frozenset({1})),), (), "stream A: origins are {1} of 1 hosts"),
        ((DataStream("A", 1),), (SharedOperator((), 0, 1),), "it needs an input"),
        (STREAMS[:1], (SharedOperator((0,), 0, 1),), "operator 0: makes A, which is a base stream"),
    ],
)
def test_what_is_wrong_with_a_system_is_named(streams, operators, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        StreamSystem((HostResources("a", 1),), streams, operators)
