"""Problems of many operators or nodes, which `auto` packs: plans hold, are good, and ties are broken."""

from __future__ import annotations

import pytest
from weir_placement.bench.headroom_scale import scale_problem
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.large import LARGE
from weir_placement.strategies import STRATEGIES

SIZES = ((400, 12), (400, 100), (30, 100))


def planned(problem: Problem, name: str = "auto") -> Result:
    result: Result = STRATEGIES[name].plan(problem, objective="headroom", seed=1, time_limit=30.0, options={})
    return result


@pytest.mark.parametrize("links", [False, True])
@pytest.mark.parametrize(("operators", "nodes"), SIZES)
def test_the_plan_carries_what_it_says(operators: int, nodes: int, links: bool) -> None:
    """By the evaluation that knows nothing of encodings; never above the bound."""
    problem = scale_problem(operators, nodes, links=links)
    result = planned(problem)
    assert result.value is not None
    assert result.bound is not None
    assert evaluate(problem, result.plan).headroom == pytest.approx(result.value, rel=1e-9)
    assert result.value <= result.bound * (1 + 1e-9)
    assert {q.query.name for q in result.plan.queries} == {q.name for q in problem.queries}


@pytest.mark.parametrize(("operators", "nodes"), [(400, 12), (1000, 100)])
def test_many_operators_come_close_to_the_bound(operators: int, nodes: int) -> None:
    result = planned(scale_problem(operators, nodes))
    assert result.value is not None
    assert result.bound is not None
    assert result.value > 0.97 * result.bound
    assert result.value > (planned(scale_problem(operators, nodes), "random").value or 0.0)


@pytest.mark.parametrize(("operators", "nodes"), SIZES)
def test_ties_are_broken_without_loss(operators: int, nodes: int) -> None:
    """The same headroom or more, and less network usage, though only a few items are looked at a move."""
    problem = scale_problem(operators, nodes)
    encoding = Encoding(problem, problem.queries, seed=3, visited=64)
    before = encoding.run(code.SCATTER)
    scattered = evaluate(problem, encoding.plan())
    after = encoding.run(code.POLISH, rounds=20)
    encoding.recall()
    polished = evaluate(problem, encoding.plan())
    assert after >= before * (1 - 1e-9)
    assert polished.headroom == pytest.approx(after, rel=1e-9)
    assert polished.network_usage < scattered.network_usage
    assert (len(encoding.items) > LARGE) == (operators == 400)
