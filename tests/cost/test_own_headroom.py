"""A query's own headroom, worked out from what shares its streams, against the whole plan evaluated."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import evaluate, headroom_of
from weir_placement.cost.own_headroom import query_headrooms
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Overheads
from weir_placement.network.exact_dp import EXACT_DP

from tests.cost.example import cluster, filter_, problem, stream
from tests.network.example import small_problem


@given(st.integers(0, 1000), st.sampled_from(["on", "off"]))
@settings(max_examples=15, deadline=None)
def test_is_that_of_the_whole_plan_with_the_other_streams_still(seed, reuse):
    p = small_problem(seed, nodes=4, width=2, queries=5, streams=5, cpu=0.05, cost=40.0)
    nodes = tuple(replace(n, egress=2e5, ingress=3e5, memory=1e8) for n in p.cluster.nodes)
    p = replace(
        p,
        cluster=replace(p.cluster, nodes=nodes),
        overheads=Overheads(100.0, 1e5, 1.0),
        profile=({}, {"bench/s1": 90.0}),
    )
    plan = EXACT_DP.plan(p, objective="network-usage", seed=0, time_limit=5.0, options={"reuse": reuse}).plan
    headrooms = query_headrooms(p, plan)
    assert set(headrooms) == {q.query.name for q in plan.queries}
    for placed in plan.queries:
        expected = headroom_of(p, plan, frozenset(placed.query.sources.values()))
        assert headrooms[placed.query.name] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_query_alone_scales_only_its_own_streams() -> None:
    p = problem(cluster([1.0]), [stream("a", 10, "n1")], [filter_("f", "a", "a.k", 1, 10_000)])
    b = stream("b", 10, "n1")
    other = replace(
        p.queries[0],
        name="default/r",
        sources={"b": b.name},
        operators=(filter_("f", "b", "b.k", 1, 10_000),),
    )
    both = replace(p, streams={**p.streams, b.name: b}, queries=(p.queries[0], other))
    plan = Plan(
        (
            QueryPlan(both.queries[0], {"f": "n1"}, {"a": "n1"}),
            QueryPlan(other, {"f": "n1"}, {"b": "n1"}),
        )
    )
    assert evaluate(both, plan).headroom == pytest.approx(5.0)
    assert query_headrooms(both, plan)["default/r"] == pytest.approx(9.0)
