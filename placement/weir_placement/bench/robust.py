"""`robust`: what robust plans give up as expected, and gain where things turn out otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp, inf, log
from pathlib import Path
from random import Random
from statistics import median

from weir_placement.bench.generator import random_query
from weir_placement.bench.machine import described
from weir_placement.bench.page import Row, write
from weir_placement.cost.corners import Corners
from weir_placement.cost.evaluation import headroom_of
from weir_placement.model.operators import Filter, Join, Operator
from weir_placement.model.plan import Plan, Result
from weir_placement.model.problem import Problem, Robustness
from weir_placement.search.auto import AUTO

QUERIES = 30
EMITTERS, OPERATORS, NODES = 3, 6, 3
FACTOR = 4.0
"""A selectivity may be so many times the expected one, or as small a part of it."""
RATE_FACTOR = 2.0
POINTS = 200
SECONDS = 10.0
DEVIATIONS = (1, 2, None)
LIMIT = 2_000.0
"""[bytes/s] of a link."""


def uncertain(seed: int, deviations: int | None) -> Problem:
    """A random query with ranges, over thin links."""
    problem = random_query(seed, EMITTERS, OPERATORS, NODES)
    network = problem.cluster.network
    thin = replace(network, bandwidth=0 * network.latency + LIMIT)
    (query,) = problem.queries
    operators = tuple(
        op.changed(max_selectivity=min(1.0, FACTOR * op.selectivity)) if isinstance(op, Filter | Join) else op
        for op in query.operators
    )
    most = {name: RATE_FACTOR * stream.rate for name, stream in problem.streams.items()}
    return replace(
        problem,
        cluster=replace(problem.cluster, network=thin),
        queries=(replace(query, operators=operators),),
        robustness=Robustness(deviations, (most,)),
    )


def plan(problem: Problem) -> Result:
    """By `auto`."""
    return AUTO.plan(problem, objective="headroom", seed=1, time_limit=SECONDS)


def truths(problem: Problem, seed: int) -> list[tuple[Problem, Mapping[str, float]]]:
    """Random points: rates and, by operator, selectivities log-uniform around the expected ones."""
    chooser = Random(seed)
    (query,) = problem.queries

    def around(expected: float, factor: float) -> float:
        return expected * exp(chooser.uniform(-log(factor), log(factor)))

    points: list[tuple[Problem, Mapping[str, float]]] = []
    for _ in range(POINTS):
        rates = {name: around(stream.rate, RATE_FACTOR) for name, stream in problem.streams.items()}
        shares = {
            op.id: min(1.0, around(op.selectivity, FACTOR))
            for op in query.operators
            if isinstance(op, Filter | Join)
        }
        points.append((replace(problem, profile=(rates,), robustness=None), shares))
    return points


def headroom_at(point: tuple[Problem, Mapping[str, float]], plan: Plan) -> float:
    """Of a plan at a true point. Joins are on two streams each: they keep their names in every order."""
    problem, shares = point

    def true(op: Operator) -> Operator:
        return op.changed(selectivity=shares[op.id]) if op.id in shares else op

    moved = tuple(
        replace(q, query=replace(q.query, operators=tuple(map(true, q.query.operators))))
        for q in plan.queries
    )
    headroom = headroom_of(problem, replace(plan, queries=moved), frozenset(problem.streams))
    return inf if headroom is None else headroom


def robust_page(folder: Path) -> None:
    """`weir bench robust`: ten minutes at most."""
    rows: list[Row] = []
    for deviations in DEVIATIONS:
        ratios: dict[str, list[float]] = {key: [] for key in ("expected", "worst", "median", "least")}
        differ = proven = 0
        for seed in range(1, QUERIES + 1):
            problem = uncertain(seed, deviations)
            corners = Corners(problem)
            nominal, robust = plan(corners.problem), plan(problem)
            proven += robust.proven or bool(robust.proven_within)
            one, other = nominal.plan, robust.plan
            differ += one != other
            ratios["expected"].append(_expected(corners.problem, other) / _expected(corners.problem, one))
            ratios["worst"].append(corners.worst(other).headroom / corners.worst(one).headroom)
            points = truths(problem, seed)
            before = [headroom_at(point, one) for point in points]
            after = [headroom_at(point, other) for point in points]
            ratios["median"].append(median(after) / median(before))
            ratios["least"].append(min(after) / min(before))
        rows.append(
            (
                "all" if deviations is None else str(deviations),
                f"{differ} of {QUERIES}",
                f"{proven} of {QUERIES}",
                *(f"{median(each):.3f} ({min(each):.2f} to {max(each):.2f})" for each in ratios.values()),
            )
        )
        print(*rows[-1], flush=True)
    write(
        folder,
        "robust",
        "Robust plans against plans for what is expected",
        f"{TEXT} {described()}",
        HEAD,
        rows,
    )


def _expected(problem: Problem, plan: Plan) -> float:
    headroom = headroom_of(problem, plan, frozenset(problem.streams))
    return inf if headroom is None else headroom


HEAD = (
    "deviations",
    "plans that differ",
    "best at their worst corner, proved",
    "headroom, expected",
    "at the worst corner",
    f"at {POINTS} random points, median",
    f"least of {POINTS} random points",
)
TEXT = f"""
Random queries as in [whitewater-small](whitewater-small.md) with {EMITTERS} streams and {OPERATORS}
operators on {NODES} nodes, links of {LIMIT:g} bytes/s. Selectivities may be {FACTOR:g} times the
expected ones (at most 1), rates {RATE_FACTOR:g} times. A figure is the headroom of the robust plan over
that of the plan which is best for what is expected: the median of {QUERIES} queries, and from the least
to the largest. At random points every rate and selectivity is log-uniform from the expected one over
that factor to that times the factor, so that more may be larger at once than `deviations` allows. A
proof may be over the plans that the searches look at ([headroom](../headroom.md#what-a-search-may-
change-and-what-proven-means)).
"""
