"""The block's plain numbers against the cost rules, on every way of random blocks with everything on."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.cost.load import Load
from weir_placement.cost.rules import RULES, Flow, apply
from weir_placement.model.operators import Filter, Item, Join, Project
from weir_placement.network.plan_space import plan_space, rescaled

from tests.network.example import small_problem


def rich(seed: int):
    """Three streams joined with every cost set, filters of one and of two streams, a projection on top."""
    problem = small_problem(seed, width=3)
    query = problem.queries[0]
    a, b, c = query.sources
    joins = [
        replace(
            op, cost=3.0 + i, cost_pair=0.1 * i, cost_out=0.5, memory=64.0, row_overhead=16.0, delay=2.0 + i
        )
        for i, op in enumerate(query.operators)
    ]
    joins[0] = replace(joins[0], inputs=("f", b))
    own = Filter("f", (a,), (f"{a}.ts",), predicate=f"{a}.ts > '2020'", selectivity=0.4, cost=1.0)
    both = Filter("g", ("j2",), (f"{a}.ts", f"{c}.ts"), f"{a}.ts > {c}.ts", selectivity=0.5, cost=2.0)
    items = (Item(f"{a}.k", f"{a}.k"), Item(f"{b}.ts", f"{b}.ts"))
    top = Project("p", ("g",), (f"{a}.k", f"{b}.ts"), items=items, cost=1.5, memory=8.0)
    return replace(problem, queries=(replace(query, operators=(own, *joins, both, top)),))


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_every_way_costs_what_its_operators_cost(seed):
    problem = rich(seed)
    space = plan_space(problem, problem.queries[0])
    flows: dict[int, Flow] = {}
    for t in range(space.ways.streams):
        if t in space.aliases:
            alias = space.aliases[t]
            stream = problem.streams[space.query.sources[alias]]
            columns = {f"{alias}.{x.name}": x.bytes for x in stream.columns}
            flows[t] = Flow(Load.of(stream.rate), columns, stream.tuple_bytes)
            continue
        for way in range(space.ways.start[t], space.ways.start[t + 1]):
            inputs = [flows[int(i)] for i in space.ways.inputs_of(way)]
            cpu = memory = 0.0
            for op in space.recipes[way]:
                out = apply(op, inputs)
                cpu += RULES[op.kind].cpu(op, inputs, out.rate)(1.0)
                memory += RULES[op.kind].memory(op, inputs)(1.0)
                inputs = [out]
            assert space.ways.cpu[way] == pytest.approx(cpu)
            assert space.ways.memory[way] == pytest.approx(memory)
            assert space.ways.bytes_per_second[t] == pytest.approx(out.bytes(1.0))
        flows[t] = out


def test_filters_and_projections_go_down_as_far_as_they_can():
    problem = rich(1)
    space = plan_space(problem, problem.queries[0])
    alone = [r for w, r in enumerate(space.recipes) if len(space.ways.inputs_of(w)) == 1]
    assert any(op.id == "f" for recipe in alone for op in recipe)
    both = [recipe for recipe in space.recipes if any(op.id == "g" for op in recipe)]
    assert both
    assert all(isinstance(recipe[0], Join) for recipe in both)
    assert space.recipes[space.ways.ways - 1][-1].id == "p"


@given(st.integers(0, 1000), st.floats(0.1, 10.0))
@settings(max_examples=10, deadline=None)
def test_new_rates_carried_through_are_those_of_a_space_built_anew(seed, factor):
    problem = rich(seed)
    query = problem.queries[0]
    name = next(iter(query.sources.values()))
    streams = {
        **problem.streams,
        name: replace(problem.streams[name], rate=problem.streams[name].rate * factor),
    }
    changed = replace(problem, streams=streams)
    anew = plan_space(changed, query)
    (scaled,) = rescaled(changed, [plan_space(problem, query)])
    assert scaled.signatures == anew.signatures
    for field in ("bytes_per_second", "cpu", "memory"):
        assert getattr(scaled.ways, field) == pytest.approx(getattr(anew.ways, field))
