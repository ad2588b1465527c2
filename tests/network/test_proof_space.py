"""Network usage: what is proved, and over which plans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from weir_placement.model.operators import Filter, Item, Project
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.network.exact_dp import EXACT_DP
from weir_placement.report import report

from tests.network.example import small_problem


def plan(problem: Problem) -> Result:
    return EXACT_DP.plan(problem, objective="network-usage", seed=0, time_limit=10.0, options={})


def filtered(cost: float = 1.0, cpu: float = float("inf")) -> Problem:
    """Two streams, the first filtered before their join."""
    problem = small_problem(3, width=2, cpu=cpu)
    (query,) = problem.queries
    a, b = query.sources
    own = Filter("f", (a,), (f"{a}.ts",), predicate=f"{a}.ts > '2020'", selectivity=0.9, cost=cost)
    join = replace(query.operators[0], inputs=("f", b))
    return replace(problem, queries=(replace(query, operators=(own, join)),))


def test_filters_early_are_best_of_all_plans_where_nothing_is_short() -> None:
    result = plan(filtered())
    assert result.proven
    assert not result.proven_within


def test_a_filter_too_heavy_for_some_nodes_might_better_wait() -> None:
    """After a join that few rows pass it would fit where it does not fit before."""
    problem = filtered(cost=100.0, cpu=1.0)
    load = 100.0 * next(problem.streams[s].rate for s in problem.queries[0].sources.values())
    nodes = tuple(
        replace(node, cpu=(0.5 if n == 1 else 2.0) * load / 1e6)
        for n, node in enumerate(problem.cluster.nodes)
    )
    result = plan(replace(problem, cluster=replace(problem.cluster, nodes=nodes)))
    assert (result.proven, result.proven_within) == (False, Space.EARLY)


@pytest.mark.parametrize("computed", [True, False])
def test_columns_that_a_computed_projection_does_not_read_are_carried_to_it(computed: bool) -> None:
    problem = filtered()
    (query,) = problem.queries
    column = f"{next(iter(query.sources))}.k"
    item = Item("k", f"{column} + 1") if computed else Item(column, column)
    top = Project("p", (query.operators[-1].id,), (column,), items=(item,))
    wider = replace(problem, queries=(replace(query, operators=(*query.operators, top)),))
    result = plan(wider)
    assert (result.proven, result.proven_within) == ((False, Space.COLUMNS) if computed else (True, None))
    assert report(wider, result)["provenWithin"] == (Space.COLUMNS.words if computed else None)
