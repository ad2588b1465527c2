"""Cloning: one hot operator may use several nodes; the best number of clones against all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.operators import Operator
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.report import read_plan, report
from weir_placement.search.clones import CloneOptions, cloned_problem
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, join, problem, stream
from tests.search.placements import best_placement


def plan(p: Problem, **options: str) -> Result:
    return STRATEGIES["auto"].plan(p, objective="headroom", seed=1, time_limit=10.0, options=options)


def hot(nodes: int, cost: float = 100.0) -> Problem:
    """One selection that fills a core at 10,000 tuples/s."""
    return problem(cluster([1.0] * nodes), [stream("a", 1, "n1")], [filter_("f", "a", "a.k", 0.5, cost)])


def test_one_hot_operator_uses_every_node() -> None:
    p = hot(3)
    assert plan(p).value == pytest.approx(1e4)
    free = plan(p, clones="3", **{"split-cost": "0", "merge-cost": "0"})
    assert free.value == pytest.approx(3e4)
    assert len(set(free.plan.queries[0].nodes.values())) == 3
    assert plan(p, clones="2", **{"split-cost": "0", "merge-cost": "0"}).value == pytest.approx(2e4)


def test_splitting_costs_what_it_costs() -> None:
    """Two clones, each of which reads all rows for 10 us and keeps half of them for 100 us: 60 us a row."""
    result = plan(hot(2), clones="2", **{"split-cost": "10", "merge-cost": "0"})
    assert result.value == pytest.approx(1e6 / 60)


def test_cloning_that_does_not_pay_is_left_alone() -> None:
    result = plan(hot(2), clones="2", **{"split-cost": "200"})
    assert [op.id for op in result.plan.queries[0].query.operators] == ["f"]
    assert result.proven


def brute_force(p: Problem, most: int, options: CloneOptions) -> float:
    """Every number of clones of every operator, every placement, in the written order."""
    (query,) = p.queries
    best = -1.0
    for numbers in product(range(1, most + 1), repeat=len(query.operators)):
        counts = {(query.name, op.id): n for op, n in zip(query.operators, numbers, strict=True) if n > 1}
        cloned = cloned_problem(p, {}, counts, options)
        if cloned is None:
            continue
        best = max(best, best_placement(cloned))
    return best


CHAINS: list[list[Operator]] = [
    [filter_("f", "a", "a.k", 0.5, 30)],
    [filter_("f", "a", "a.k", 0.9, 90), filter_("g", "f", "a.k", 0.2, 1)],
    [filter_("f", "a", "a.k", 0.1, 5), filter_("g", "f", "a.k", 0.5, 70)],
]


@pytest.mark.parametrize("operators", CHAINS, ids=["one", "first", "second"])
def test_the_best_clones_are_those_of_an_enumeration(operators: list[Operator]) -> None:
    p = problem(cluster([1.0, 1.5]), [stream("a", 1, "n1")], operators)
    p = replace(p, queries=tuple(replace(q, fixed_order=True) for q in p.queries))
    options = CloneOptions(split_cost=2.0)
    result = plan(p, clones="2", **{"split-cost": "2"})
    assert result.value is not None
    assert equal(result.value, brute_force(p, 2, options))


def test_a_join_is_cloned_by_its_key_and_the_report_reads_back() -> None:
    p = problem(
        cluster([1.0, 1.0]),
        [stream("a", 10, "n1"), stream("b", 10, "n2")],
        [join("j", "a", "b", "a.k", "b.k", 0.001)],
    )
    alone, both = plan(p), plan(p, clones="2", **{"split-cost": "1"})
    assert both.value is not None
    assert alone.value is not None
    assert both.value > 1.5 * alone.value
    assert both.bound is None
    assert not both.proven
    document = report(p, both)
    operators = document["queries"][0]["operators"]
    assert [o["from"] for o in operators if o["kind"] == "join"] == [["j"], ["j"]]
    assert document["extra"]["clones"] == {"default/q/j": 2}
    again = evaluate(p, read_plan(p, document))
    assert again.headroom == pytest.approx(both.value)
    rates = evaluate(p, alone.plan).operators["default/q", "j"].rate(1.0)
    assert again.operators["default/q", "j-merged"].rate(1.0) == pytest.approx(rates)
