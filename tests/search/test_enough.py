"""The cheapest plans with a headroom that is enough, against an enumeration of all plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.evaluation import Evaluation, equal, evaluate
from weir_placement.model.plan import PlanCost, Result
from weir_placement.model.problem import Placed, Problem, Query
from weir_placement.rewrite.rewriter import Rewriter
from weir_placement.search.least_hosts import with_least_hosts
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, join, problem, project, stream
from tests.search.placements import placements
from tests.search.random_problems import random_problem

SMALL = [s for s in range(60) if len(random_problem(s, 3, 2).queries[0].operators) <= 4][:8]


def plan(p: Problem, name: str = "auto", **options: str) -> Result:
    return STRATEGIES[name].plan(p, objective="headroom", seed=1, time_limit=30.0, options=options)


def small(seed: int, shared: bool) -> Problem:
    """With a price of hosts, which share classes or not."""
    p = random_problem(seed, 3, 2)
    priced = replace(p.overheads, host_cpu=200.0, host_memory=50.0)
    queries = tuple(replace(q, sharing_class="c" if shared else "") for q in p.queries)
    return replace(p, overheads=priced, queries=queries)


def every_plan(p: Problem) -> Iterator[Evaluation]:
    (query,) = p.queries
    for logical in Rewriter(query, p.streams).reachable():
        for each in placements(replace(p, queries=(logical,))):
            yield evaluate(p, each)


@cache
def feasible(seed: int, shared: bool) -> tuple[tuple[float, PlanCost], ...]:
    """Headroom and cost of every plan that can be carried out."""
    evaluations = (e for e in every_plan(small(seed, shared)) if e.feasible)
    return tuple((e.rank, PlanCost(e.hosts, e.network_usage, e.fragments, e.moves)) for e in evaluations)


def cheapest(seed: int, shared: bool, enough: float) -> PlanCost | None:
    best: PlanCost | None = None
    for headroom, cost in feasible(seed, shared):
        if headroom >= enough * (1 - 1e-9) and (best is None or cost.below(best)):
            best = cost
    return best


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(SMALL), st.booleans(), st.floats(0.02, 1.3), st.sampled_from(["auto", "exact"]))
def test_no_plan_with_enough_headroom_costs_less(seed: int, shared: bool, part: float, name: str) -> None:
    p = small(seed, shared)
    most = max((headroom for headroom, _ in feasible(seed, shared)), default=-1.0)
    enough = part * (most if 0 < most < inf else 1.0)
    result, oracle = plan(replace(p, enough=enough), name), cheapest(seed, shared, enough)
    if oracle is None:
        assert result.cost is None
        if most >= 0:  # the most that can be had, as without a headroom that is enough
            assert result.value is not None
            assert equal(result.value, most)
            assert result.proven
        else:
            assert result.plan.rejected
        return
    cost, evaluation = result.cost, evaluate(p, result.plan)
    assert cost is not None
    assert evaluation.rank >= enough * (1 - 1e-9)
    assert (cost.hosts, cost.fragments, cost.moves) == (oracle.hosts, oracle.fragments, oracle.moves)
    assert cost.network_usage == pytest.approx(oracle.network_usage)
    assert (evaluation.hosts, evaluation.fragments, evaluation.moves) == (
        cost.hosts,
        cost.fragments,
        cost.moves,
    )
    assert evaluation.network_usage == pytest.approx(cost.network_usage)
    assert result.proven
    assert cost.least_hosts == cost.hosts
    assert (result.bound, result.proven_within) == (None, None)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SMALL), st.booleans(), st.floats(0.02, 1.0), st.floats(0.02, 1.0))
def test_more_headroom_never_costs_less(seed: int, shared: bool, one: float, other: float) -> None:
    p = small(seed, shared)
    less, more = (plan(replace(p, enough=enough)).cost for enough in sorted((one, other)))
    assert not (more and less is None)
    assert not (less and more and more.below(less))


@settings(deadline=None, max_examples=10)
@given(st.sampled_from(SMALL), st.floats(0.02, 1.0))
def test_the_same_problem_has_the_same_plan(seed: int, enough: float) -> None:
    p = replace(small(seed, True), enough=enough)
    assert plan(p).plan == plan(p).plan


@pytest.mark.parametrize("name", ["greedy", "tabu", "annealing", "random", "exhaustive"])
def test_other_strategies_make_their_plans_cheaper(name: str) -> None:
    for seed in SMALL:
        p = replace(small(seed, True), enough=0.05)
        before, after = plan(replace(p, enough=None), name), plan(p, name)
        if before.value is None or before.value >= 0.05:
            assert after.cost is not None, (name, seed)
            assert after.cost.hosts <= evaluate(p, before.plan).hosts
            assert evaluate(p, after.plan).rank >= 0.05 * (1 - 1e-9)


def spread_join() -> Problem:
    """Two streams of 50 rows/s that are joined: for the most headroom every node is used."""
    streams = [stream("a", 50, "n1"), stream("b", 50, "n2")]
    left, right = filter_("f", "a", "a.k", 0.5, 20), filter_("g", "b", "b.k", 0.5, 20)
    return problem(
        cluster([1.0, 1.0, 1.0], 0.01), streams, [left, right, join("j", "f", "g", "a.k", "b.k", 1e-4)]
    )


@pytest.mark.parametrize("shared", [False, True])
def test_a_small_join_opens_one_host_instead_of_three(shared: bool) -> None:
    p = spread_join()
    p = replace(p, queries=tuple(replace(q, sharing_class="c" * shared) for q in p.queries))
    most = evaluate(p, plan(p).plan)
    assert (most.hosts, len(set(plan(p).plan.queries[0].nodes.values()))) == (3, 3)
    result = plan(replace(p, enough=2.0))
    assert result.proven
    assert result.cost is not None
    assert result.cost.hosts == 1
    assert len(set(result.plan.queries[0].nodes.values())) == 1


def test_projections_are_dropped_below_the_join_where_that_costs_less() -> None:
    """Written above the join; below it the wide column of `b` does not cross the link."""
    streams = [stream("a", 50, "n1"), stream("b", 50, "n2", columns=("k", "wide"))]
    p = problem(
        cluster([1.0, 1.0], 0.01),
        streams,
        [join("j", "a", "b", "a.k", "b.k", 1e-4), project("p", "j", ["a.k", "b.k"])],
        deliver_to=("n1",),
    )
    p = replace(p, enough=1.0, queries=tuple(replace(q, sharing_class="c") for q in p.queries))
    result = plan(p)
    best = min((e.hosts, e.network_usage) for e in every_plan(p) if e.feasible and e.rank >= 1.0)
    assert result.proven
    assert result.cost is not None
    assert (result.cost.hosts, result.cost.network_usage) == (best[0], pytest.approx(best[1]))


def many(count: int, nodes: int, cost: float, shared: bool) -> Problem:
    """Small queries over one stream each: together they need some of the nodes."""
    streams = [stream(f"s{i}", 10.0, f"n{1 + i % nodes}") for i in range(count)]
    queries = tuple(
        Query(
            f"default/q{i:03}",
            {"s": f"default/s{i}"},
            (filter_("f", "s", "s.k", 0.5, cost), filter_("g", "f", "s.k", 0.5, cost)),
            sharing_class="c" * shared,
        )
        for i in range(count)
    )
    base = problem(cluster([1.0] * nodes, 0.01), streams, queries[0].operators)
    return replace(base, streams={s.name: s for s in streams}, queries=queries)


def test_small_queries_share_as_few_nodes_as_can_carry_them() -> None:
    """40 queries of 0.015 cores each, a headroom of 2: 1.2 cores, so two nodes of one core."""
    p = many(40, 8, 1000.0, shared=True)
    assert evaluate(p, plan(p).plan).hosts == 8
    result = plan(replace(p, enough=2.0))
    assert result.cost is not None
    assert (result.cost.hosts, result.cost.least_hosts) == (2, 2)
    assert not result.proven  # that no two other nodes use the network less is not


def test_a_query_comes_to_the_host_that_is_there() -> None:
    p = many(6, 4, 10.0, shared=True)
    running = tuple(Placed(q.name, op, "n3") for q in p.queries[:5] for op in ("f", "g"))
    pinned = {f"{placed.query}/{placed.operator}": placed.node for placed in running}
    result = plan(replace(p, enough=2.0, in_force=running, pinned=pinned))
    assert {node for placed in result.plan.queries for node in placed.nodes.values()} == {"n3"}


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SMALL), st.booleans(), st.floats(0.02, 1.0))
def test_the_bound_on_hosts_holds_for_all_plans(seed: int, shared: bool, part: float) -> None:
    p = small(seed, shared)
    most = max((headroom for headroom, _ in feasible(seed, shared)), default=-1.0)
    enough = part * (most if 0 < most < inf else 1.0)
    oracle = cheapest(seed, shared, enough)
    if oracle is None:
        return
    unproven = replace(plan(replace(p, enough=enough)), proven=False, proven_within=None)
    bounded = with_least_hosts(replace(p, enough=enough), unproven, inf)
    assert bounded.cost is not None
    assert 1 <= bounded.cost.least_hosts <= oracle.hosts


def test_robust_plans_keep_the_most_headroom() -> None:
    from weir_placement.model.problem import Robustness

    p = replace(spread_join(), robustness=Robustness(1))
    assert plan(replace(p, enough=2.0)).plan == plan(p).plan
