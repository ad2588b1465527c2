"""The upper bound is one: no algorithm finds more, on small problems not even the exhaustive one."""

from weir_placement.bench.generator import random_query
from weir_placement.search.bounds import upper_bound
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.strategies import STRATEGIES

from tests.search.random_problems import random_problem


def test_no_plan_exceeds_the_bound() -> None:
    problems = [random_problem(seed) for seed in range(15)]
    problems += [random_query(seed, 1 + seed % 3, 6, 2) for seed in range(15)]
    bounded = 0
    for k, problem in enumerate(problems):
        result = STRATEGIES["exhaustive"].plan(
            problem, objective="headroom", seed=1, time_limit=10.0, options={"steps": "20000"}
        )
        if not result.plan.queries or not result.value:
            continue
        encoding = Encoding(problem, problem.queries, seed=1)
        encoding.run(code.EVALUATE)
        bound = upper_bound(encoding, result.value / 3)
        assert bound >= result.value * (1 - 1e-9), k
        bounded += bound < HUGE
    assert bounded > 15


def test_large_queries_are_mostly_within_one_percent_of_their_bound() -> None:
    within = 0
    for seed in range(10):
        problem = random_query(seed, 6, 18, 10)
        result = STRATEGIES["auto"].plan(
            problem, objective="headroom", seed=seed, time_limit=10.0, options={}
        )
        assert result.value is not None
        assert result.bound is not None
        assert result.bound >= result.value
        within += result.bound <= 1.01 * result.value
    assert within >= 5
