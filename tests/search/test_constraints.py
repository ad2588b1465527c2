"""Every kind of constraint binds in the search as in an enumeration by the plain evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from weir_placement.cost.evaluation import equal, evaluate
from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem, Query
from weir_placement.strategies import STRATEGIES

from tests.cost.example import cluster, filter_, join, problem, stream
from tests.search.placements import best_placement


def auto(p: Problem) -> Result:
    return STRATEGIES["auto"].plan(p, objective="headroom", seed=1, time_limit=10.0, options={})


def free(latency: float = 0.0) -> Problem:
    """A selection on each side of a join, on two unequal nodes."""
    p = problem(
        cluster([1.0, 1.5], latency),
        [stream("a", 10, "n1"), stream("b", 20, "n2")],
        [
            filter_("f", "a", "a.k", 0.5, 300),
            filter_("g", "b", "b.k", 0.5, 300),
            join("j", "f", "g", "a.k", "b.k", 0.01),
        ],
    )
    return fixed(p)


def fixed(p: Problem) -> Problem:
    return replace(p, queries=tuple(replace(q, fixed_order=True) for q in p.queries))


def on_nodes(p: Problem, **limits: float) -> Problem:
    nodes = tuple(replace(n, **limits) for n in p.cluster.nodes)  # type: ignore[arg-type]
    return replace(p, cluster=replace(p.cluster, nodes=nodes))


def bandwidth(p: Problem, limit: float) -> Problem:
    network = p.cluster.network
    narrow = replace(network, bandwidth=np.full_like(network.bandwidth, limit))
    return replace(p, cluster=replace(p.cluster, network=narrow))


def allowed(p: Problem, operator: str, *nodes: str) -> Problem:
    (query,) = p.queries
    ops = tuple(replace(o, nodes=nodes) if o.id == operator else o for o in query.operators)
    return replace(p, queries=(replace(query, operators=ops),))


def second_query(p: Problem) -> Problem:
    (query,) = p.queries
    other = Query(
        "default/other", {"a": "default/a"}, (filter_("h", "a", "a.k", 1.0, 4000),), fixed_order=True
    )
    return replace(p, queries=(query, other))


CONSTRAINTS: dict[str, tuple[Callable[[Problem], Problem], str]] = {
    "cpu": (lambda p: on_nodes(p, cpu=0.3), "cpu of node"),
    "memory": (lambda p: on_nodes(p, memory=500.0), "memory of node"),
    "egress": (lambda p: on_nodes(allowed(p, "j", "n1"), egress=20.0), "egress of node"),
    "ingress": (lambda p: on_nodes(allowed(p, "j", "n1"), ingress=20.0), "ingress of node"),
    "bandwidth": (lambda p: bandwidth(allowed(p, "j", "n1"), 20.0), "bandwidth of link"),
    "allowed nodes": (lambda p: allowed(p, "j", "n1"), "cpu of node n1"),
    "pinned": (lambda p: replace(p, pinned={"default/q/j": "n1"}), "cpu of node n1"),
    "forbidden": (lambda p: replace(p, forbidden={"default/q/j": frozenset({"n2"})}), "cpu of node n1"),
    "several queries": (second_query, "cpu of node"),
    "profile set": (
        lambda p: replace(p, profile=({"default/a": 100.0}, {"default/b": 150.0})),
        "cpu of node",
    ),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_it_binds_and_the_best_plan_under_it_is_that_of_an_enumeration(name: str) -> None:
    without = free()
    constrained = CONSTRAINTS[name][0](without)
    result = auto(constrained)
    assert result.value is not None
    assert equal(result.value, best_placement(constrained))
    assert result.proven
    assert result.value < (auto(without).value or inf) * (1 - 1e-6)
    binding = evaluate(constrained, result.plan).binding
    assert binding is not None
    assert binding.name.startswith(CONSTRAINTS[name][1])


def test_a_profile_set_is_the_minimum_over_its_points() -> None:
    p = CONSTRAINTS["profile set"][0](free())
    result = auto(p)
    alone = [evaluate(replace(p, profile=(point,)), result.plan).headroom for point in p.profile]
    assert result.value is not None
    assert equal(result.value, min(x for x in alone if x is not None))


def test_a_latency_limit_chooses_the_near_plan() -> None:
    """Free, the join takes the greater node and rows cross a link of 60 ms; a limit of 30 ms forbids that."""
    p = allowed(allowed(free(0.06), "f", "n1"), "g", "n1")
    streams = {**p.streams, "default/b": replace(p.streams["default/b"], origins=("n1",))}
    p = replace(p, streams=streams)
    far = auto(p)
    assert far.plan.queries[0].nodes["j"] == "n2"
    near = replace(p, queries=tuple(replace(q, max_latency=0.03) for q in p.queries))
    result = auto(near)
    assert result.plan.queries[0].nodes["j"] == "n1"
    assert result.value is not None
    assert equal(result.value, best_placement(near))
    assert result.value < (far.value or inf)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda p: on_nodes(p, memory=100.0),
            "memory of node n2 is 136 bytes before any input, over its capacity of 100 bytes",
        ),
        (lambda p: allowed(p, "j", "n9"), "there is no node n9"),
        (
            lambda p: replace(
                allowed(allowed(p, "f", "n1"), "j", "n2"),
                queries=tuple(
                    replace(q, max_latency=0.01) for q in allowed(allowed(p, "f", "n1"), "j", "n2").queries
                ),
            ),
            "latency of query default/q is 0.0611 s, over its limit of 0.01 s",
        ),
    ],
    ids=["memory", "node", "latency"],
)
def test_infeasible_says_which_constraint_with_which_numbers(
    change: Callable[[Problem], Problem], reason: str
) -> None:
    result = auto(change(free(0.06)))
    assert not result.plan.queries
    assert reason in result.plan.rejected[0].reason
