"""The compiled evaluator against the plain one, after any search has moved things about."""

import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code

from tests.search.random_problems import random_problem

COMMANDS = {
    "scatter": (code.SCATTER, (), ()),
    "annealing": (code.ANNEAL, (4, 200), (0.5, 0.3, 0.01, HUGE)),
    "climb": (code.CLIMB, (1000, 3), ()),
    "tabu": (code.TABU, (50, 20, 3), (0.0, 0.0, 0.0, HUGE)),
    "reactive": (code.REACTIVE, (50, 50, 3), (1.0, 1.1, 0.9, HUGE)),
    "polish": (code.POLISH, (20,), ()),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_incremental_values_are_those_of_the_plain_evaluation(name: str) -> None:
    command, numbers, reals = COMMANDS[name]
    for seed in range(30):
        problem = random_problem(seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.SCATTER)
        value = encoding.run(command, *numbers, reals=reals)
        encoding.recall()
        plain = evaluate(problem, encoding.plan())
        if plain.feasible:
            headroom = HUGE if plain.headroom is None else plain.headroom
            assert equal(value, headroom), (seed, value, headroom)
        else:
            assert value < 0, (seed, value, plain.reasons)


def test_network_usage_fragments_and_moves_are_those_of_the_plain_evaluation() -> None:
    for seed in range(30):
        problem = random_problem(seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.POLISH, 0)
        plain = evaluate(problem, encoding.plan())
        usage, fragments, moves = encoding.read("result_")[:3]
        assert equal(usage, plain.network_usage), seed
        assert (fragments, moves) == (plain.fragments, plain.moves), seed
