"""Whatever a strategy plans, the plan gives the rows of the written query: shown on random rows."""

from __future__ import annotations

from random import Random

import pytest
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.problem import Problem
from weir_placement.strategies import STRATEGIES
from weir_placement.strategy import Strategy

from tests.rewrite.random_queries import STREAMS, TIMES, query, rows
from tests.rewrite.rows import run

NODES = ("n", "o", "p")
CLUSTER = Cluster(
    tuple(Node(name, cpu=4.0) for name in NODES), Network.uniform(3, latency=0.02, bandwidth=1e9)
)
PLANS = 30


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=lambda s: s.name)
def test_plans_keep_the_rows(strategy: Strategy[object]) -> None:
    objective = strategy.objectives[0].name
    compared = 0
    for seed in range(PLANS):
        random = Random(seed)
        written, data = query(random, most=3 + seed % 2).query, rows(random, most=5)
        problem = Problem(CLUSTER, STREAMS, (written,))
        result = strategy.plan(problem, objective=objective, seed=seed, time_limit=0.2)
        for planned in result.plan.queries:
            compared += 1
            assert run(planned.query, data, TIMES) == run(written, data, TIMES), (
                f"{strategy.name}, seed {seed}: {written.operators}\nplanned {planned.query.operators}"
            )
    assert compared == PLANS
