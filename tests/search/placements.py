"""Every placement of the logical plans that a problem's queries have: the oracle of the searches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from weir_placement.cost.allowed import allowed_nodes
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem, Query


def placements(problem: Problem) -> Iterator[Plan]:
    """Each origin, operator and sink on each node that it may have."""
    for placed in product(*(list(_of(problem, query)) for query in problem.queries)):
        yield Plan(placed)


def _of(problem: Problem, query: Query) -> Iterator[QueryPlan]:
    origins = [problem.streams[stream].origins for stream in query.sources.values()]
    nodes = [allowed_nodes(problem, query, op) for op in query.operators]
    for sink in query.deliver_to or ("",):
        for entered in product(*origins):
            for chosen in product(*nodes):
                at = {op.id: node for op, node in zip(query.operators, chosen, strict=True)}
                yield QueryPlan(query, at, dict(zip(query.sources, entered, strict=True)), sink)


def best_placement(problem: Problem) -> float:
    """The headroom of the best of them; -1 if none is feasible."""
    return max((evaluate(problem, plan).rank for plan in placements(problem)), default=-1.0)
