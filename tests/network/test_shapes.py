"""Queries of equal shape share a draft: what they get from it is what each would build for itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.operator_form import whole
from weir_placement.model.operators import Filter, Join, Operator
from weir_placement.model.problem import Problem
from weir_placement.network.plan_space import plan_space, plan_spaces
from weir_placement.network.signatures import sign
from weir_placement.network.space_builder import build
from weir_placement.network.workload import join_query, random_problem

from tests.network.example import small_problem
from tests.network.test_block_costs import rich


@given(st.integers(0, 1000), st.booleans(), st.booleans())
@settings(max_examples=12, deadline=None)
def test_is_what_the_query_alone_would_build(seed, several_points, fixed):
    problem = rich(seed)
    if several_points:
        names = list(problem.streams)
        problem = replace(problem, profile=({names[0]: 3.0}, dict.fromkeys(names[1:], 40.0)))
    query = replace(problem.queries[0], fixed_order=fixed)
    names = tuple(query.sources.values())
    rates = [[point[name] for point in problem.points()] for name in names]
    alone = build(query, problem.streams, rates)
    space = plan_space(problem, query)
    carried, cpu, memory = alone.numbers(alone.rates)
    np.testing.assert_allclose(space.ways.bytes_per_second, carried)
    np.testing.assert_allclose(space.ways.cpu, cpu)
    np.testing.assert_allclose(space.ways.memory, memory)
    assert space.signatures == sign(alone.signers, names)
    assert len(space.recipes) == len(alone.recipes)
    for own, expected in zip(space.recipes, alone.recipes, strict=True):
        assert [op.id for op in own] == [op.id for op in expected]
        # which of several equalities of a class is checked depends on the order of names
        assert list(map(conjunctions, own)) == list(map(conjunctions, expected))
        joins = [op for op in own if isinstance(op, Join)]
        assert all(set(op.on.replace(" AND ", " = ").split(" = ")) <= {*op.columns, ""} for op in joins)
        assert list(map(without_columns, own)) == list(map(without_columns, expected))


def conjunctions(op: Operator) -> int:
    return op.on.count(" AND ") if isinstance(op, Join) else 0


def without_columns(op: Operator) -> dict[str, object]:
    return {name: value for name, value in whole(op).items() if name not in ("columns", "on", "items")}


def many(seed: int, queries: int = 12) -> Problem:
    return random_problem(np.zeros((3, 3)), streams=6, queries=queries, width=3, seed=seed)


def test_a_draft_is_shared_by_queries_of_one_shape_and_by_no_other():
    problem = many(1)
    drafts = {id(space.draft) for space in plan_spaces(problem, problem.queries).values()}
    assert len(drafts) == 1
    other = replace(problem.queries[0], name="bench/other", operators=problem.queries[0].operators[:1])
    dearer = replace(
        problem.queries[0],
        name="bench/dearer",
        operators=tuple(replace(op, cost=9.0) for op in problem.queries[0].operators),
    )
    spaces = plan_spaces(problem, (*problem.queries, other, dearer))
    assert len({id(space.draft) for space in spaces.values()}) == 3


@pytest.mark.parametrize("text", ["__a0__.k > 1", "s.k > '__o0__'"])
def test_a_text_like_a_name_of_a_shape_stays_as_it_is(text):
    problem = small_problem(2, width=2)
    query = problem.queries[0]
    alias = next(iter(query.sources))
    odd = Filter("f", (query.operators[-1].id,), (f"{alias}.k",), predicate=text)
    space = plan_space(problem, replace(query, operators=(*query.operators, odd)))
    assert any(isinstance(op, Filter) and op.predicate == text for recipe in space.recipes for op in recipe)


@given(st.integers(0, 1000), st.permutations(range(4)))
@settings(max_examples=10, deadline=None)
def test_signatures_depend_on_what_is_joined_and_not_on_order_or_aliases(seed, order):
    problem = small_problem(seed, width=4, streams=4)
    names = list(problem.queries[0].sources)
    plain = plan_space(problem, join_query("q/a", names, "n0", 1e-3))
    turned = join_query("q/b", [names[i] for i in order], "n0", 1e-3)
    space = plan_space(problem, turned)
    assert space.signatures[-1] == plain.signatures[-1]
    assert set(space.signatures) >= {plain.signatures[-1], *problem.queries[0].sources.values()}
    narrower = replace(
        turned,
        operators=tuple(
            replace(op, windows=tuple(replace(w, upper=w.upper - 1) for w in op.windows))
            for op in turned.operators
        ),
    )
    assert plan_space(problem, narrower).signatures[-1] != plain.signatures[-1]
