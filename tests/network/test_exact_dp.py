"""The exact program against plain enumeration, on the cost model's own figures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.network import space_builder
from weir_placement.network.exact_dp import EXACT_DP
from weir_placement.network.shapes import shared_draft

from tests.network.example import cheapest, small_problem


def plan(problem: Problem, reuse: str = "on") -> Result:
    return EXACT_DP.plan(
        problem, objective="network-usage", seed=0, time_limit=10.0, options={"reuse": reuse}
    )


@given(st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_is_the_cheapest_of_all_orders_and_places(seed):
    problem = small_problem(seed, nodes=3)
    result = plan(problem)
    assert result.value == pytest.approx(cheapest(problem), rel=1e-9)
    assert result.proven


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_its_value_is_what_the_cost_model_says_of_its_plan(seed):
    problem = small_problem(seed, nodes=8, width=4, streams=6)
    result = plan(problem)
    evaluation = evaluate(problem, result.plan)
    assert evaluation.feasible, evaluation.reasons
    assert evaluation.network_usage == pytest.approx(result.value, rel=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_does_not_depend_on_the_order_in_which_joins_were_written(seed):
    problem = small_problem(seed, nodes=5, width=4)
    query = problem.queries[0]
    from weir_placement.network.workload import join_query

    turned = join_query(
        query.name, list(reversed(query.sources)), query.deliver_to[0], query.operators[0].selectivity
    )
    assert plan(replace(problem, queries=(turned,))).value == pytest.approx(plan(problem).value, rel=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_does_not_depend_on_the_names_of_nodes(seed):
    problem = small_problem(seed, nodes=6, width=3)
    order = np.random.default_rng(seed).permutation(6)
    nodes = tuple(problem.cluster.nodes[i] for i in order)
    latency = problem.cluster.network.latency[np.ix_(order, order)]
    from weir_placement.model.cluster import Cluster, Network

    moved = replace(problem, cluster=Cluster(nodes, Network.of_matrix(latency)))
    assert plan(moved).value == pytest.approx(plan(problem).value, rel=1e-9)


def test_a_stream_that_enters_at_several_nodes_is_read_where_it_is_cheapest():
    problem = small_problem(3, nodes=5, width=2)
    first = next(iter(problem.queries[0].sources.values()))
    sink = problem.queries[0].deliver_to[0]
    streams = dict(problem.streams)
    streams[first] = replace(streams[first], origins=(*streams[first].origins, sink))
    wider = replace(problem, streams=streams)
    assert plan(wider).value <= plan(problem).value
    assert plan(wider).value == pytest.approx(cheapest(wider), rel=1e-9)


def test_without_a_sink_delivery_costs_nothing():
    problem = small_problem(4, nodes=4, width=3)
    free = replace(problem, queries=(replace(problem.queries[0], deliver_to=()),))
    assert plan(free).value == pytest.approx(cheapest(free), rel=1e-9)
    assert plan(free).value <= plan(problem).value


def test_a_fixed_order_is_kept_and_only_placed():
    problem = small_problem(5, nodes=4, width=3)
    fixed = replace(problem, queries=(replace(problem.queries[0], fixed_order=True),))
    result = plan(fixed)
    assert [op.id for op in result.plan.queries[0].query.operators] == ["j1", "j2"]
    assert result.value == pytest.approx(cheapest(fixed), rel=1e-9)


def test_a_node_too_small_for_the_join_is_left_out():
    problem = small_problem(6, nodes=4, width=2, cpu=1.0, cost=100.0)
    best = plan(problem).plan.queries[0].nodes["j1"]
    nodes = tuple(replace(n, cpu=1e-6) if n.name == best else n for n in problem.cluster.nodes)
    tight = replace(problem, cluster=replace(problem.cluster, nodes=nodes))
    assert plan(tight).plan.queries[0].nodes["j1"] != best
    none = replace(
        problem, cluster=replace(problem.cluster, nodes=tuple(replace(n, cpu=1e-6) for n in nodes))
    )
    refused = plan(none).plan.rejected[0]
    assert "CPU" in refused.reason
    assert "j1" in refused.reason


def test_two_queries_share_a_join_that_lies_on_the_way_of_both():
    problem = small_problem(7, nodes=5, width=3, queries=1)
    twin = replace(problem.queries[0], name="bench/twin")
    result = plan(replace(problem, queries=(*problem.queries, twin)))
    assert result.value == pytest.approx(plan(problem).value, rel=1e-9)
    assert result.proven


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_the_bound_of_several_queries_is_below_every_plan(seed):
    problem = small_problem(seed, nodes=5, width=3, queries=3, streams=4)
    result = plan(problem)
    alone = sum(plan(replace(problem, queries=(q,))).value for q in problem.queries)
    assert result.bound <= result.value * (1 + 1e-12)
    assert result.value <= alone * (1 + 1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_without_reuse_the_cost_model_agrees_on_several_queries_and_their_loads(seed):
    problem = small_problem(seed, nodes=6, width=3, queries=5, streams=5, cpu=0.05, cost=40.0)
    result = plan(problem, reuse="off")
    evaluation = evaluate(problem, result.plan)
    assert evaluation.feasible, evaluation.reasons
    assert evaluation.network_usage == pytest.approx(result.value, rel=1e-9)
    assert evaluation.headroom is None or evaluation.headroom >= 1 - 1e-9
    assert result.bound <= result.value * (1 + 1e-12)


def test_reuse_is_on_or_off():
    with pytest.raises(ValueError, match="option reuse: perhaps is not allowed; give on or off"):
        plan(small_problem(1), reuse="perhaps")


def test_nothing_is_proved_where_a_part_of_the_joins_stays_in_the_order_written(monkeypatch):
    shared_draft.cache_clear()
    monkeypatch.setattr(space_builder, "MAX_BLOCK", 2)
    result = plan(small_problem(7, nodes=4, width=3))
    shared_draft.cache_clear()
    assert not result.proven
    assert result.bound is None
    assert result.space is Space.SOME_ORDERS
