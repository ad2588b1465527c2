"""Round robin (D-CAPE, algorithm 2): the written plan, each operator on the node with the fewest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.strategies import STRATEGIES

from tests.search.random_problems import random_problem


def plan(p: Problem) -> Result:
    return STRATEGIES["round-robin"].plan(p, objective="headroom", seed=1, time_limit=1.0, options={})


def allowed(p: Problem, *nodes: str) -> Problem:
    """Every operator on these nodes alone; without any, anywhere."""
    queries = (replace(q, operators=tuple(replace(op, nodes=nodes) for op in q.operators)) for q in p.queries)
    return replace(p, queries=tuple(queries))


@pytest.mark.parametrize("seed", range(20))
def test_nodes_have_equally_many_operators(seed: int) -> None:
    p = allowed(random_problem(seed, limits=False))
    result = plan(p)
    counts = Counter(dict.fromkeys((n.name for n in p.cluster.nodes), 0))
    for placed, query in zip(result.plan.queries, p.queries, strict=True):
        assert {(o.id, o.inputs) for o in placed.query.operators} == {
            (o.id, o.inputs) for o in query.operators
        }
        counts.update(placed.nodes[op.id] for op in query.operators)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_an_operator_that_may_run_on_one_node_only_runs_there() -> None:
    p = random_problem(3, limits=False)
    last = p.cluster.nodes[-1].name
    assert {node for q in plan(allowed(p, last)).plan.queries for node in q.nodes.values()} == {last}
