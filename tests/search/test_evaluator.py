"""The compiled evaluator against the plain one, after any search has moved things about."""

import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code

from tests.search.random_problems import random_problem

COMMANDS = {
    "scatter": (code.SCATTER, {}),
    "annealing": (
        code.ANNEAL,
        {"temperatures": 4, "iterations": 200, "alpha": 0.5, "hot": 0.3, "cold": 0.01, "goal": HUGE},
    ),
    "climb": (code.CLIMB, {"iterations": 1000, "moves": 3}),
    "tabu": (code.TABU, {"iterations": 50, "list_size": 20, "moves": 3, "goal": HUGE}),
    "reactive": (
        code.REACTIVE,
        {
            "iterations": 50,
            "cycle": 50,
            "moves": 3,
            "list_size": 1.0,
            "increase": 1.1,
            "decrease": 0.9,
            "goal": HUGE,
        },
    ),
    "polish": (code.POLISH, {"rounds": 20}),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_incremental_values_are_those_of_the_plain_evaluation(name: str) -> None:
    command, parameters = COMMANDS[name]
    for seed in range(30):
        problem = random_problem(seed)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.SCATTER)
        value = encoding.run(command, **parameters)
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
        encoding.run(code.POLISH, rounds=0)
        plain = evaluate(problem, encoding.plan())
        usage, fragments, moves = encoding.read("result_")[:3]
        assert equal(usage, plain.network_usage), seed
        assert (fragments, moves) == (plain.fragments, plain.moves), seed
