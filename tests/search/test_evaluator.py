"""The compiled evaluator against the plain one, after any search has moved things about."""

from dataclasses import replace

import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.problem import Problem
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


def with_hosts(problem: Problem, seed: int) -> Problem:
    """Every third with a price of hosts of its own processes, every third with one of shared hosts."""
    priced = replace(problem.overheads, host_cpu=300.0, host_memory=100.0)
    queries = tuple(replace(q, sharing_class="c" * (seed % 3 == 1)) for q in problem.queries)
    return replace(problem, queries=queries, overheads=priced) if seed % 3 else problem


@pytest.mark.parametrize("name", COMMANDS)
def test_incremental_values_are_those_of_the_plain_evaluation(name: str) -> None:
    command, parameters = COMMANDS[name]
    for seed in range(30):
        problem = with_hosts(random_problem(seed), seed)
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


def test_hosts_network_usage_fragments_and_moves_are_those_of_the_plain_evaluation() -> None:
    for seed in range(30):
        problem = replace(with_hosts(random_problem(seed), seed), enough=1.0)
        encoding = Encoding(problem, problem.queries, seed=seed)
        encoding.run(code.POLISH, rounds=0)
        plain = evaluate(problem, encoding.plan())
        hosts, usage, fragments, moves = encoding.read("key_")[:4]
        assert equal(usage, plain.network_usage), seed
        assert (hosts, fragments, moves) == (plain.hosts, plain.fragments, plain.moves), seed
