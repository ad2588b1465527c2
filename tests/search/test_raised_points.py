"""Points with selectivities of their own: compiled values and bounds against the plain evaluation."""

import random
from dataclasses import replace

import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.operators import Filter, Join
from weir_placement.model.problem import Problem
from weir_placement.search.bounds import upper_bound
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code

from tests.search.random_problems import random_problem
from tests.search.test_one_space import problem as over_three_nodes
from tests.search.test_one_space import query, without_projections

COMMANDS = {
    "climb": (code.CLIMB, {"iterations": 1000, "moves": 3}),
    "settle": (code.SETTLE, {"iterations": 200, "goal": HUGE}),
    "polish": (code.POLISH, {"rounds": 20}),
}


def raised(problem: Problem, seed: int) -> Problem:
    """Three points at which random operators have three times their selectivity."""
    r = random.Random(seed)
    (query,) = problem.queries
    operators = tuple(
        op.changed(max_selectivity=min(1.0, 3 * op.selectivity)) if isinstance(op, Filter | Join) else op
        for op in query.operators
    )
    names = [f"{query.name}/{op.id}" for op in operators if isinstance(op, Filter | Join)]
    points = tuple(
        {name: s.rate * r.uniform(0.5, 2) for name, s in problem.streams.items()} for _ in range(3)
    )
    sets = tuple(frozenset(name for name in names if r.random() < 0.5) for _ in range(3))
    return replace(problem, queries=(replace(query, operators=operators),), profile=points, raised=sets)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("limits", [True, False])
def test_compiled_values_are_those_of_the_plain_evaluation(name: str, limits: bool) -> None:
    command, parameters = COMMANDS[name]
    for seed in range(25):
        problem = raised(random_problem(seed, limits=limits), seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.SCATTER)
        value = encoding.run(command, **parameters)
        encoding.recall()
        plain = evaluate(problem, encoding.plan())
        if plain.feasible:
            assert equal(value, HUGE if plain.headroom is None else plain.headroom), seed
        else:
            assert value < 0, (seed, plain.reasons)


def test_joins_in_any_order_have_the_rates_of_their_sets() -> None:
    """Three streams with windows on all pairs: the rate of the whole is raised alike in every order."""
    for seed in range(10):
        problem = raised(over_three_nodes(without_projections(query())), seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.SCATTER)
        value = encoding.run(code.SETTLE, iterations=200, goal=HUGE)
        encoding.recall()
        plan = encoding.plan()
        headroom = evaluate(problem, plan).headroom
        assert headroom is not None
        assert equal(value, headroom), seed


def test_no_plan_exceeds_the_bound() -> None:
    for seed in range(25):
        problem = raised(random_problem(seed, limits=False), seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.SCATTER)
        value = encoding.run(code.SETTLE, iterations=500, goal=HUGE)
        if 0 < value < HUGE:
            assert upper_bound(encoding, value / 2) >= value * (1 - 1e-9), seed
