"""What can be planned is not refused; what cannot is refused with the capacities that are short."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from weir_placement.model.plan import Result, Shortage
from weir_placement.model.problem import Problem
from weir_placement.network import fallback
from weir_placement.network.ledger import Ledger, flows, steps
from weir_placement.network.plan_space import plan_space
from weir_placement.network.single import Refusal, SinglePlacement
from weir_placement.report import report
from weir_placement.strategies import STRATEGIES

from tests.network.example import small_problem
from tests.network.test_recombine import best, every, tight

KINDS = ("cpu", "memory", "egress", "ingress")


def plan(problem: Problem, name: str = "exact-dp", seconds: float = 30.0) -> Result:
    return STRATEGIES[name].plan(problem, objective="network-usage", seed=0, time_limit=seconds, options={})


def scarce(seed: int) -> Problem:
    """One query of two or three streams on three or four nodes, any of whose capacities may be short."""
    random = np.random.default_rng(seed)
    count, width = int(random.integers(3, 5)), int(random.integers(2, 4))
    problem = small_problem(seed, nodes=count, width=width, cost=50.0)
    ways = plan_space(problem, problem.queries[0]).ways
    largest = {"cpu": ways.cpu.max() / 1e6, "memory": ways.memory.max()}
    largest |= dict.fromkeys(("egress", "ingress"), ways.bytes_per_second.max())
    nodes = []
    for node in problem.cluster.nodes:
        limits = {k: float(largest[k] * np.exp(random.uniform(-0.8, 0.8))) for k in KINDS}
        some = {k: v for k, v in limits.items() if random.random() < (0.8 if k == "cpu" else 0.4)}
        nodes.append(replace(node, **some))
    network = problem.cluster.network
    if random.random() < 0.4:
        widths = np.exp(random.uniform(-0.8, 1.0, (count, count))) * largest["egress"]
        network = replace(network, bandwidth=widths)
    return replace(problem, cluster=replace(problem.cluster, nodes=tuple(nodes), network=network))


def loads(placed: SinglePlacement) -> dict[tuple[str, ...], float]:
    """By resource and nodes' names."""
    space, result = placed.space, defaultdict(float)
    for step in steps(placed.root):
        if step.way >= 0:
            result["CPU", f"n{step.node}"] += float(space.ways.cpu[step.way])
            result["memory", f"n{step.node}"] += float(space.ways.memory[step.way])
    for (_, a, b), rate in dict(flows(space, placed.root, placed.sink)).items():
        result["egress", f"n{a}"] += rate
        result["ingress", f"n{b}"] += rate
        result["bandwidth", f"n{a}", f"n{b}"] += rate
    return dict(result)


def capacity(problem: Problem, key: tuple[str, ...]) -> float:
    kind, *names = key
    a, *b = (problem.cluster.index[name] for name in names)
    if kind == "bandwidth":
        return problem.cluster.network.link_bandwidth(a, b[0])
    node = problem.cluster.nodes[a]
    return node.cpu_capacity if kind == "CPU" else float(getattr(node, kind))


def least_missing(problem: Problem) -> float:
    """Over all plans, the least sum of parts by which capacities are exceeded."""
    (choices,) = every(problem).values()
    return min(
        sum(max(load / capacity(problem, key) - 1.0, 0.0) for key, load in loads(placed).items())
        for placed in choices
    )


def grown(problem: Problem, short: tuple[Shortage, ...]) -> Problem:
    """The problem with what a certificate says is missing."""
    nodes, bandwidth = list(problem.cluster.nodes), np.array(problem.cluster.network.bandwidth_matrix)
    index = problem.cluster.index
    for each in short:
        a, missing = index[each.nodes[0]], each.missing * (1 + 1e-6) + 1e-6
        if each.resource == "bandwidth":
            bandwidth[a, index[each.nodes[1]]] += missing
        elif each.resource == "CPU":
            nodes[a] = replace(nodes[a], cpu=nodes[a].cpu + missing / 1e6)
        else:
            nodes[a] = replace(nodes[a], **{each.resource: getattr(nodes[a], each.resource) + missing})
    network = replace(problem.cluster.network, bandwidth=bandwidth)
    return replace(problem, cluster=replace(problem.cluster, nodes=tuple(nodes), network=network))


@pytest.mark.parametrize("name", ["exact-dp", "top-down", "bottom-up", "relaxation"])
def test_no_query_that_has_a_plan_is_refused(name: str) -> None:
    possible = 0
    for seed in range(150):
        problem = scarce(seed)
        lowest = best(problem)
        result = plan(problem, name)
        assert bool(result.plan.rejected) == (not np.isfinite(lowest)), seed
        if np.isfinite(lowest):
            possible += 1
            assert result.value >= lowest * (1 - 1e-9) - 1e-6
    assert 60 < possible < 145


def test_a_refusal_says_by_how_much_capacities_are_short_and_with_that_there_is_a_plan() -> None:
    certificates = 0
    for seed in range(150):
        problem = scarce(seed)
        result = plan(problem)
        for refused in result.plan.rejected:
            missing = sum(
                each.missing / capacity(problem, (each.resource, *each.nodes)) for each in refused.short
            )
            assert missing == pytest.approx(least_missing(problem), rel=1e-5, abs=1e-6), seed
            assert not plan(grown(problem, refused.short)).plan.rejected, seed
            (entry,) = report(problem, result)["queries"]
            assert [e["missing"] for e in entry["short"]] == [e.missing for e in refused.short]
            for each in refused.short:
                assert f"{each.resource} of " in refused.reason
                assert all(node in refused.reason for node in each.nodes)
            certificates += 1
    assert certificates > 10


@pytest.mark.parametrize("kind", ["cpu", "memory", "ingress"])
def test_queries_that_fit_together_are_all_admitted(kind: str) -> None:
    """Those that are placed move for the next one; and one that does not fit has a certificate."""
    together = 0
    for seed in range(12):
        problem = tight(seed, kind)
        result = plan(problem)
        feasible = np.isfinite(best(problem))
        assert bool(result.plan.rejected) == (not feasible), seed
        together += feasible
        for refused in result.plan.rejected:
            assert refused.short, seed
            assert "does not fit" in refused.reason
    assert together >= 3


def test_what_was_not_found_in_the_time_is_not_called_impossible() -> None:
    """Without time some of what has a plan is refused, with other words than what has none."""
    late = 0
    for seed in range(150):
        problem = scarce(seed)
        for refused in plan(problem, "top-down", seconds=0.0).plan.rejected:
            assert refused.reason.startswith("no plan for it was found in "), refused.reason
            late += np.isfinite(best(problem))
    assert late > 0


def test_a_refusal_beside_what_runs_leaves_the_ledger_as_it_was() -> None:
    problem = tight(3, "cpu")
    placements = {name: choices[0] for name, choices in list(every(problem).items())[:1]}
    ledger = Ledger(problem)
    for placed in placements.values():
        ledger.add(placed.space, placed.root, placed.sink)
    before = ledger.usage, ledger.cpu.tolist(), dict(ledger.flows)
    other = plan_space(problem, problem.queries[1]).private()
    fallback.Fallback(problem, 0, 0.0, 1e18).admit(ledger, placements, other, Refusal(""), False)
    after = ledger.usage, ledger.cpu.tolist(), dict(ledger.flows)
    assert after[0] == pytest.approx(before[0])
    assert after[1] == pytest.approx(before[1])
    assert after[2] == before[2]
