"""The hierarchical planners: valid plans, own views only, never below the optimum."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.bench.network_usage import transit_stub
from weir_placement.cost.evaluation import evaluate
from weir_placement.hierarchy import planners
from weir_placement.hierarchy.advertisements import Views, advertised
from weir_placement.hierarchy.partition import partition
from weir_placement.hierarchy.view import View, plan_view
from weir_placement.model.cluster import Network
from weir_placement.model.problem import Problem
from weir_placement.network.fallback import Fallback
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import plan_space
from weir_placement.network.several import plan_all
from weir_placement.network.single import place_query
from weir_placement.network.sites import all_sites
from weir_placement.network.workload import random_problem
from weir_placement.strategies import STRATEGIES

from tests.network.example import small_problem

HIERARCHICAL = ("top-down", "bottom-up", "net-present-cost", "top-down-refined")


def spread(seed: int, nodes: int = 40, **more) -> Problem:
    spot = np.random.default_rng(seed).uniform(0.0, 0.1, (nodes, 2))
    latency = np.linalg.norm(spot[:, None] - spot[None], axis=2)
    settings_ = {"streams": 8, "queries": 1, "width": 4, **more}
    return replace(random_problem(latency, seed=seed, **settings_), max_cluster_size=6)


def plan(problem: Problem, name: str, seed: int = 0, reuse: str = "on"):
    options = {"reuse": reuse} if "reuse" in STRATEGIES[name].options else {}
    return STRATEGIES[name].plan(
        problem, objective="network-usage", seed=seed, time_limit=20.0, options=options
    )


@given(st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_plans_are_valid_and_cost_what_they_say(seed):
    problem = spread(seed)
    best = plan(problem, "exact-dp").value
    for name in (*HIERARCHICAL, "plan-then-deploy", "relaxation"):
        result = plan(problem, name)
        evaluation = evaluate(problem, result.plan)
        assert evaluation.feasible, (name, evaluation.reasons)
        assert evaluation.network_usage == pytest.approx(result.value, rel=1e-9), name
        assert best <= result.value * (1 + 1e-9), name
        assert result.bound <= best * (1 + 1e-9), name


@given(st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_refining_a_query_alone_is_never_worse_than_top_down(seed):
    problem = spread(seed)
    assert plan(problem, "top-down-refined").value <= plan(problem, "top-down").value * (1 + 1e-9)


@pytest.mark.parametrize("name", HIERARCHICAL)
@pytest.mark.parametrize("seed", range(3))
def test_a_larger_cap_is_never_worse_for_a_query_alone(name, seed):
    """A cap is no quota; but for net-present-cost, whose draws differ."""
    problem = spread(seed, nodes=24)
    values = []
    for cap in (4, 7, 8, 12, 16, 20, 24, 32):
        values.append(plan(replace(problem, max_cluster_size=cap), name).value)
    if name == "net-present-cost":
        assert values[-1] <= min(values) * (1 + 1e-9)
        return
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values)), values


@pytest.mark.parametrize("name", ["exact-dp", *HIERARCHICAL])
def test_loads_of_many_queries_stay_within_the_nodes(name):
    """A query more than fits is refused with the node that is short; what is placed fits."""
    problem = spread(5, queries=10, cpu=0.012, cost=60.0)
    result = plan(problem, name, reuse="off")
    assert result.plan.queries
    assert result.plan.rejected
    assert all("CPU" in r.reason or "cpu of node" in r.reason for r in result.plan.rejected)
    headroom = evaluate(problem, result.plan).headroom
    assert headroom is None or headroom >= 1 - 1e-9


def test_the_ledger_never_goes_below_nothing_and_forgets_what_is_taken_out():
    problem = spread(5, queries=10, cpu=0.02, cost=60.0)

    def planner(ledger, space):
        return place_query(ledger, space, all_sites(problem, space))

    ledger, placed, _, _ = plan_all(problem, planner, Fallback(problem, 0, 0.0, 1e18), 1e18)
    assert (ledger.cpu >= -1e-6).all()
    fresh = Ledger(problem)
    for p in placed.values():
        fresh.add(p.space, p.root, p.sink)
    np.testing.assert_allclose(ledger.cpu, fresh.cpu, atol=1e-6)
    assert ledger.usage == pytest.approx(fresh.usage)
    for p in placed.values():
        ledger.remove(p.space, p.root, p.sink)
    np.testing.assert_allclose(ledger.cpu, Ledger(problem).cpu, atol=1e-6)
    assert ledger.usage == pytest.approx(0.0, abs=1e-6)
    assert not any(ledger.advertised.values())
    assert not ledger.flows


def test_a_view_holds_its_own_members_only_and_planning_reads_nothing_else():
    """Scrambling everything outside a cluster leaves its view, and so its plan, as it was."""
    problem = spread(11, nodes=30)
    space = plan_space(problem, problem.queries[0])
    hierarchy = partition(problem.cluster.network, np.arange(30), 6)
    cluster = hierarchy.levels[0][0]
    member = np.array(cluster.members)
    outside = np.setdiff1d(np.arange(30), member)
    latency = problem.cluster.network.latency.copy()
    latency[np.ix_(outside, outside)] = np.random.default_rng(1).uniform(1, 2, (len(outside),) * 2)
    latency[np.ix_(member, outside)] = 7.0
    latency[np.ix_(outside, member)] = 9.0
    scrambled = replace(problem, cluster=replace(problem.cluster, network=Network.of_matrix(latency)))
    views = []
    for variant in (problem, scrambled):
        ledger = Ledger(variant)
        view, _ = Views(ledger, space, hierarchy).view(
            cluster, 0, advertised(ledger, space), space.ways.streams - 1, [int(outside[0])]
        )
        assert view.latency.shape == (len(member), len(member))
        views.append(view)
    for field in fields(View):
        np.testing.assert_array_equal(getattr(views[0], field.name), getattr(views[1], field.name))
    assert plan_view(views[0]) == plan_view(views[1])


def test_the_views_of_upper_levels_hold_costs_between_their_members_only():
    """At each level over the nodes: costs other than between members of the cluster do not reach its plan."""
    problem = spread(12, nodes=40)
    space = plan_space(problem, problem.queries[0])
    hierarchy = partition(problem.cluster.network, np.arange(40), 4)
    assert len(hierarchy.levels) >= 3
    for level in range(1, len(hierarchy.levels)):
        cluster = hierarchy.levels[level][0]
        member = np.array(cluster.members)
        latency = np.random.default_rng(level).uniform(1, 2, (40, 40))
        latency[np.ix_(member, member)] = problem.cluster.network.latency[np.ix_(member, member)]
        scrambled = replace(problem, cluster=replace(problem.cluster, network=Network.of_matrix(latency)))
        plans = []
        for variant in (problem, scrambled):
            ledger = Ledger(variant)
            entries = advertised(ledger, space)
            view, _ = Views(ledger, space, hierarchy).view(
                cluster, level, entries, space.ways.streams - 1, [int(member[0])]
            )
            assert view.latency.shape == view.place.shape[1:] * 2 == (len(member),) * 2
            plans.append(plan_view(view))
        assert plans[0] == plans[1]
        assert plans[0] is not None


def test_net_present_cost_says_its_odds_and_draws_by_them():
    problem = spread(3, nodes=60, queries=20, streams=10, width=4)
    decisions = [d for seed in range(3) for d in plan(problem, "net-present-cost", seed).extra["decisions"]]
    assert decisions
    for d in decisions:
        here, later = d["costHere"] ** 8, d["costLater"] ** 8
        assert d["probability"] == pytest.approx(later / (here + later))
    assert {d["fixed"] for d in decisions} == {True, False}
    expected = sum(d["probability"] for d in decisions)
    spread_ = sum(d["probability"] * (1 - d["probability"]) for d in decisions) ** 0.5
    assert abs(sum(d["fixed"] for d in decisions) - expected) <= 4 * spread_


def test_net_present_cost_delays_where_bottom_up_decides_too_early(monkeypatch):
    """On the transit-stub network, by one hierarchy: it differs from bottom-up, and is better on average."""
    monkeypatch.setattr(planners, "cluster_sizes", lambda nodes, maxcs: [maxcs])
    problem = random_problem(transit_stub(), streams=25, queries=60, width=5, seed=5)
    values = {}
    for name in ("bottom-up", "net-present-cost"):
        alone = [replace(problem, queries=(query,), max_cluster_size=32) for query in problem.queries]
        values[name] = np.array([plan(one, name, seed=1).value for one in alone])
    ratio = values["net-present-cost"] / values["bottom-up"]
    assert np.mean(ratio != 1.0) >= 0.1
    assert ratio.mean() < 0.99


def test_a_stream_that_runs_far_away_is_not_reused():
    """The paper's far-apart sinks: reuse only where it is cheaper."""
    problem = small_problem(1, nodes=4, width=2, streams=2, queries=1)
    line = np.array([[0, 1, 50, 51], [1, 0, 51, 50], [50, 51, 0, 1], [51, 50, 1, 0]], float)
    streams = {n: replace(s, origins=("n0", "n2"), rate=10.0) for n, s in problem.streams.items()}
    query = replace(problem.queries[0], deliver_to=("n1",))
    far = replace(query, name="bench/far", deliver_to=("n3",))
    machines = replace(problem.cluster, network=Network.of_matrix(line))
    both = replace(problem, cluster=machines, streams=streams, queries=(query, far), max_cluster_size=2)
    for name in ("exact-dp", "top-down-refined"):
        places = [set(q.nodes.values()) for q in plan(both, name).plan.queries]
        assert places[0] <= {"n0", "n1"}
        assert places[1] <= {"n2", "n3"}


def test_tiers_by_label_never_cross_it():
    problem = spread(2)
    nodes = tuple(replace(n, labels={"tier": f"k{i % 3}"}) for i, n in enumerate(problem.cluster.nodes))
    tiered = replace(problem, cluster=replace(problem.cluster, nodes=nodes), tier_label="tier")
    for name in HIERARCHICAL:
        assert evaluate(tiered, plan(tiered, name).plan).feasible
    from weir_placement.hierarchy.partition import tiers

    for cluster in tiers(tiered.cluster, "tier", 6).levels[0]:
        assert len({nodes[i].labels["tier"] for i in cluster.members}) == 1
    bare = replace(problem, tier_label="tier")
    with pytest.raises(ValueError, match="node n0 has no label tier"):
        plan(bare, "top-down")
