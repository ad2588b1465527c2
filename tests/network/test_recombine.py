"""Capacities that bind: plans chosen together, against the best of all joint plans."""

from dataclasses import replace

import numpy as np
import pytest
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.problem import Problem
from weir_placement.network.exact_dp import EXACT_DP
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import plan_space
from weir_placement.network.recombine import recombine
from weir_placement.network.single import SinglePlacement

from tests.network.example import small_problem, trees


def tight(seed: int, kind: str) -> Problem:
    """Four queries of two streams on four nodes, each of which takes one join or a little more."""
    problem = small_problem(seed, nodes=4, width=2, queries=4, streams=4, cost=50.0)
    ways = [plan_space(problem, q).ways for q in problem.queries]
    room = float(np.random.default_rng(seed).uniform(1.0, 1.6))
    if kind == "cpu":
        limit = {"cpu": room * float(np.mean([w.cpu.max() for w in ways])) / 1e6}
    elif kind == "memory":
        limit = {"memory": room * float(np.mean([w.memory.max() for w in ways]))}
    else:
        limit = {"ingress": 2.0 * room * float(np.mean([w.bytes_per_second.max() for w in ways]))}
    nodes = tuple(replace(n, **limit) for n in problem.cluster.nodes)
    return replace(problem, cluster=replace(problem.cluster, nodes=nodes))


def every(problem: Problem) -> dict[str, list[SinglePlacement]]:
    """Every plan of each query."""
    index, plans = problem.cluster.index, {}
    for query in problem.queries:
        space = plan_space(problem, query).private()
        origins = {
            t: [index[o] for o in problem.streams[query.sources[a]].origins] for t, a in space.aliases.items()
        }
        sink = index[query.deliver_to[0]]
        roots = trees(space, space.ways.streams - 1, len(problem.cluster), origins)
        plans[query.name] = [SinglePlacement(space, root, sink, 0.0) for root in roots]
    return plans


def best(problem: Problem) -> float:
    """The least usage of all joint plans that fit, by trying them."""
    choices = list(every(problem).values())
    lowest = np.inf

    def go(n: int, ledger: Ledger) -> None:
        nonlocal lowest
        if ledger.usage >= lowest:
            return
        if n == len(choices):
            lowest = ledger.usage
            return
        for p in choices[n]:
            if next(ledger.overloads(p.space, p.root, p.sink), None) is None:
                ledger.add(p.space, p.root, p.sink)
                go(n + 1, ledger)
                ledger.remove(p.space, p.root, p.sink)

    go(0, Ledger(problem))
    return lowest


@pytest.mark.parametrize("kind", ["cpu", "memory", "ingress"])
def test_is_the_best_joint_plan_where_all_plans_are_choices(kind):
    met = 0
    for seed in range(12):
        problem = tight(seed, kind)
        lowest = best(problem)
        chosen = recombine(problem, every(problem), 5.0, 0)
        assert (chosen is None) == (not np.isfinite(lowest))
        if chosen is not None:
            ledger = Ledger(problem)
            for p in chosen.values():
                assert next(ledger.overloads(p.space, p.root, p.sink), None) is None
                ledger.add(p.space, p.root, p.sink)
            assert ledger.usage == pytest.approx(lowest, rel=1e-6)
            met += 1
    assert met >= 3


@pytest.mark.parametrize("kind", ["cpu", "memory", "ingress"])
def test_the_exact_program_chooses_anew_where_planning_one_after_the_other_falls_short(kind):
    """A join's place decides its CPU and memory; what flows in has more choices than are noted."""
    above = []
    for seed in range(12):
        problem = tight(seed, kind)
        lowest = best(problem)
        result = EXACT_DP.plan(problem, objective="network-usage", seed=0, time_limit=20.0, options={})
        evaluation = evaluate(problem, result.plan)
        assert evaluation.headroom is None or evaluation.headroom >= 1 - 1e-9
        if np.isfinite(lowest) and not result.plan.rejected:
            assert result.bound <= lowest * (1 + 1e-9)
            above.append(result.value / lowest - 1.0)
    assert len(above) >= 3
    assert float(np.mean(above)) <= (0.03 if kind == "ingress" else 1e-6)


def three_ways(seed: int) -> Problem:
    """Three queries of two joins each on three nodes, one of whose resources is short everywhere."""
    problem = small_problem(seed, nodes=3, width=3, queries=3, streams=5, cost=50.0)
    ways = [plan_space(problem, query).ways for query in problem.queries]
    room = float(np.random.default_rng(seed + 7).uniform(1.5, 3.0))
    limit = [
        {"cpu": room * float(np.mean([w.cpu.max() for w in ways])) / 1e6},
        {"memory": room * float(np.mean([w.memory.max() for w in ways]))},
        {"ingress": 1.5 * room * float(np.mean([w.bytes_per_second.max() for w in ways]))},
    ][seed % 3]
    nodes = tuple(replace(n, **limit) for n in problem.cluster.nodes)
    return replace(problem, cluster=replace(problem.cluster, nodes=nodes))


def test_two_joins_a_query_are_planned_together_as_well_as_by_trying_all_joint_plans():
    compared, bound = 0, 0
    for seed in range(12):
        problem = three_ways(seed)
        result = EXACT_DP.plan(problem, objective="network-usage", seed=0, time_limit=20.0, options={})
        lowest = best(problem)
        assert bool(result.plan.rejected) == (not np.isfinite(lowest)), seed
        if np.isfinite(lowest):
            compared += 1
            bound += result.proven
            assert result.value == pytest.approx(lowest, rel=1e-6), seed
            assert result.bound <= lowest * (1 + 1e-9)
            assert evaluate(problem, result.plan).network_usage == pytest.approx(result.value)
    assert compared > 8
    assert bound == compared
