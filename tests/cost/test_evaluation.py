"""Headroom, flows, latency and reasons of a plan, against figures worked out by hand."""

from dataclasses import replace
from math import inf

import pytest
from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.model.operators import Aggregate, Union
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads, Placed, Problem

from tests.cost.example import cluster, filter_, join, problem, stream


def texts(evaluation: Evaluation) -> tuple[str, ...]:
    return tuple(map(str, evaluation.reasons))


def placed(p: Problem, origins: dict[str, str], sink: str = "", **nodes: str) -> Plan:
    return Plan((QueryPlan(p.queries[0], nodes, origins, sink),))


def test_example_2_of_000_has_its_printed_constraint() -> None:
    """o1 on N1; o2 and o3 on N2: N2 carries o2.c 2 w s1 r1 r2 + o3.c (s2 2 w s1 r1 r2 + r3)."""
    streams = [stream("a", 10, "n1"), stream("b", 20, "n1"), stream("c", 30, "n2")]
    p = problem(
        cluster([1.0, 1.0]),
        streams,
        [
            join("o1", "a", "b", "a.k", "b.k", 0.01),
            filter_("o2", "o1", "a.k", 0.5, 20),
            join("o3", "o2", "c", "b.k", "c.k", 0.1),
        ],
    )
    e = evaluate(p, placed(p, {"a": "n1", "b": "n1", "c": "n2"}, o1="n1", o2="n2", o3="n2"))
    joined = 2 * 5 * 0.01 * 10 * 20
    assert e.loads["n1"].cpu(1.0) == 800 * 30
    assert e.loads["n2"].cpu(1.0) == pytest.approx(20 * joined + 800 * (0.5 * joined + 30))
    assert e.loads["n1"].memory(1.0) == pytest.approx(5 * (10 * 8 + 20 * 8) + 128)
    x = e.headroom
    assert x is not None
    n1, n2 = 800 * 30 * x, 20 * joined * x**2 + 800 * (0.5 * joined * x**2 + 30 * x)
    assert max(n1, n2) == pytest.approx(1e6, rel=1e-12)


def test_a_profile_set_takes_the_minimum_over_its_points() -> None:
    op = filter_("f", "a", "a.k", 0.5, 100)
    p = problem(
        cluster([1.0]), [stream("a", 1, "n1")], [op], profile=({"default/a": 10}, {"default/a": 40}, {})
    )
    e = evaluate(p, placed(p, {"a": "n1"}, f="n1"))
    assert (e.headroom, e.point) == (pytest.approx(1e6 / 4000), 1)


def test_a_flow_counts_once_however_many_consumers_share_it() -> None:
    operators = [
        filter_("f", "a", "a.k", 0.5, 1),
        filter_("g", "f", "a.k", 0.5, 1),
        filter_("h", "f", "a.k", 0.5, 1),
        Union("u", ("g", "h"), cost=1),
    ]
    p = problem(cluster([1, 1], latency=0.1), [stream("a", 100, "n1")], operators)
    e = evaluate(p, placed(p, {"a": "n1"}, f="n1", g="n2", h="n2", u="n2"))
    assert {k: v(1.0) for k, v in e.links.items()} == {("default/q/f", "n1", "n2"): 400.0}
    assert e.network_usage == pytest.approx(40.0)
    assert e.fragments == 2  # f, whose readers are two and elsewhere; g, h and u together


@pytest.mark.parametrize(
    ("limits", "bandwidth", "name"),
    [
        ({"egress": 400.0}, inf, "egress of node n1"),
        ({"ingress": 400.0}, inf, "ingress of node n2"),
        ({}, 400.0, "bandwidth of link n1 -> n2"),
        ({"memory": 8.0}, inf, None),
    ],
)
def test_every_capacity_can_bind(limits: dict[str, float], bandwidth: float, name: str | None) -> None:
    p = problem(
        cluster([1, 1], bandwidth=bandwidth, **limits),
        [stream("a", 100, "n1")],
        [filter_("f", "a", "a.k", 0.5, 1)],
    )
    e = evaluate(p, placed(p, {"a": "n1"}, f="n2"))
    if name:
        assert e.binding is not None
        assert (e.binding.name, e.headroom, str(e.binding)) == (name, 0.5, f"{name} at 200 %")
    else:
        assert e.feasible
        assert e.headroom == pytest.approx(1e4)


def test_latency_is_the_costliest_path_and_makes_a_plan_infeasible_with_its_numbers() -> None:
    streams = [stream("a", 1, "n1"), stream("b", 1, "n2")]
    p = problem(
        cluster([1, 4], latency=0.06),
        streams,
        [join("j", "a", "b", "a.k", "b.k", 0.1)],
        deliver_to=("n1",),
        max_latency=0.1,
        overheads=Overheads(exchange_latency=0.03),
    )
    e = evaluate(p, placed(p, {"a": "n1", "b": "n2"}, "n1", j="n2"))
    idle = 1 - 2 * 800 / 4e6
    assert e.latency["default/q"] == pytest.approx(0.06 + (0.03 + 800e-6) / idle + 0.06)
    assert texts(e) == ("latency of query default/q is 0.1508 s, over its limit of 0.1 s",)
    assert e.reasons[0].subject == "latency of query default/q"
    assert e.reasons[0].share == pytest.approx(1.508)


def test_fragments_and_exchanges_cost_what_they_are_given() -> None:
    overheads = Overheads(fragment_cpu=1000.0, fragment_memory=50.0, exchange_cost=2.0, exchange_latency=0.5)
    p = problem(
        cluster([1, 1]),
        [stream("a", 100, "n1")],
        [filter_("f", "a", "a.k", 0.5, 10), filter_("g", "f", "a.k", 0.5, 10)],
        overheads=overheads,
    )
    apart = evaluate(p, placed(p, {"a": "n1"}, f="n1", g="n2"))
    assert apart.loads["n1"].cpu(1.0) == 1000 + 100 * 10 + 2 * 50
    assert apart.loads["n2"].cpu(1.0) == 1000 + 50 * 10 + 2 * 50
    assert apart.loads["n1"].memory(1.0) == 58.0
    idle = {name: 1 - loads.cpu(1.0) / 1e6 for name, loads in apart.loads.items()}
    assert apart.latency["default/q"] == pytest.approx(sum((0.5 + 10e-6) / share for share in idle.values()))
    together = evaluate(p, placed(p, {"a": "n1"}, f="n1", g="n1"))
    assert together.loads["n1"].cpu(1.0) == 1000 + 1500
    assert (apart.fragments, together.fragments) == (2, 1)
    (query,) = p.queries
    p = replace(p, queries=(replace(query, processes=3),))  # a driver and two executors
    apart = evaluate(p, placed(p, {"a": "n1"}, f="n1", g="n2"))
    assert apart.loads["n2"].cpu(1.0) == 3 * 1000 + 50 * 10 + 2 * 50
    assert apart.loads["n1"].memory(1.0) == 3 * 50.0 + 8.0


def test_what_does_not_depend_on_the_input_may_already_be_too_much() -> None:
    p = problem(
        cluster([1.0]),
        [stream("a", 100, "n1")],
        [filter_("f", "a", "a.k", 0.5, 0)],
        overheads=Overheads(fragment_cpu=2e6),
    )
    e = evaluate(p, placed(p, {"a": "n1"}, f="n1"))
    assert texts(e) == (
        "cpu of node n1 is 2e+06 CPU-us/s before any input, over its capacity of 1e+06 CPU-us/s",
    )
    free = replace(p, overheads=Overheads())
    assert evaluate(free, placed(free, {"a": "n1"}, f="n1")).headroom is None


def test_a_capped_aggregate_does_not_grow_for_ever() -> None:
    """Behind the aggregate at most groups / slide rows a second leave, so its consumer never saturates."""
    count = Aggregate("c", ("a",), window=10.0, slide=10.0, groups=100, cost=1.0)
    after = replace(filter_("f", "c", "k", 1.0, 50_000), columns=())
    p = problem(cluster([1.0, 1.0]), [stream("a", 1000, "n1")], [count, after])
    e = evaluate(p, placed(p, {"a": "n1"}, c="n1", f="n2"))
    assert e.loads["n2"].cpu(100.0) == 10 * 50_000
    assert e.headroom == pytest.approx(1000.0)


def test_moves_count_what_is_not_where_it_runs() -> None:
    p = problem(
        cluster([1, 1]),
        [stream("a", 1, "n1")],
        [filter_("f", "a", "a.k", 1, 1), filter_("g", "f", "a.k", 1, 1)],
    )
    p = replace(p, in_force=(Placed("default/q", "f", "n1"), Placed("default/q", "g", "n1")))
    assert evaluate(p, placed(p, {"a": "n1"}, f="n1", g="n2")).moves == 1


def test_an_operator_where_it_may_not_run_is_named() -> None:
    p = problem(
        cluster([1, 1]), [stream("a", 1, "n1")], [filter_("f", "a", "a.k", 1, 1, "n2")], deliver_to=("n2",)
    )
    e = evaluate(p, placed(p, {"a": "n1"}, "n2", f="n1"))
    assert texts(e) == ("operator default/q/f may run on n2 only, not on n1",)


def test_a_window_has_no_more_groups_than_rows() -> None:
    """2 rows/s, windows of 10 s, two at a time: 20 rows at most in each, however many groups there may be."""
    op = Aggregate("g", ("a",), window=10.0, slide=5.0, groups=1e6, memory=500.0)
    p = problem(cluster([1.0], memory=80_000.0), [stream("a", 2, "n1")], [op])
    e = evaluate(p, placed(p, {"a": "n1"}, g="n1"))
    assert e.feasible, texts(e)
    memory = e.loads["n1"].memory
    assert (memory(1.0), memory(2.0)) == (500.0 * 2 * 20, 500.0 * 2 * 40)
    assert e.headroom == 4.0
    few = problem(p.cluster, [stream("a", 2, "n1")], [replace(op, groups=30.0)])
    memory = evaluate(few, placed(few, {"a": "n1"}, g="n1")).loads["n1"].memory
    assert (memory(1.0), memory(2.0)) == (500.0 * 2 * 20, 500.0 * 2 * 30)


def test_a_batch_costs_the_same_with_one_row_or_a_thousand() -> None:
    """Two fragments at 2 batches/s, n2's with the source c and a flow: processes, inputs and state apart."""
    streams = [stream("a", 10, "n1"), stream("b", 20, "n1"), stream("c", 30, "n2")]
    overheads = Overheads(
        fragment_cpu=7.0, batch_cost=1_000.0, input_batch_cost=100.0, state_batch_cost=10.0, batch_rate=2.0
    )
    operators = [
        filter_("f", "a", "a.k", 0.5, 0),
        join("o1", "f", "b", "a.k", "b.k", 0.01),
        filter_("o2", "o1", "a.k", 0.5, 0),
        join("o3", "o2", "c", "b.k", "c.k", 0.1),
    ]
    operators = [replace(op, cost=0.0) for op in operators]
    p = problem(cluster([1.0, 1.0]), streams, operators, overheads=overheads)
    e = evaluate(p, placed(p, {"a": "n1", "b": "n1", "c": "n2"}, f="n1", o1="n1", o2="n2", o3="n2"))
    batch = 1_000.0 + 2 * 100.0 + 2 * 10.0
    assert e.loads["n1"].cpu(0.0) == e.loads["n1"].cpu(9.0) == 7.0 + 2 * batch
    assert e.loads["n2"].cpu(0.0) == 7.0 + 2 * batch
    assert e.headroom is None
