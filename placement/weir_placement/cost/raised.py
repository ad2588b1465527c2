"""Selectivities at a point of the profile where some are at their largest (model.md section 10).

The rate of a joined set of streams belongs to the query, not to a plan (section 4): so does what a raised
join adds to it, from the set on that has all streams which the written join names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_

from weir_placement.model.operators import Filter, Join, Operator
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem, Query

Aliases = frozenset[str]
RaisedJoin = tuple[Aliases, float]
"""The sources that a written join names, and its largest selectivity over the expected one."""


def uncertain(op: Operator) -> bool:
    """Whether the operator's selectivity may be larger than expected."""
    return isinstance(op, Filter | Join) and op.max_selectivity > op.selectivity > 0


def at_point(problem: Problem, query: Query, point: int) -> Query:
    """A query, or the query of a plan, with the selectivities of a point of the profile."""
    raised = problem.raised[point] if problem.raised else frozenset()
    if not any(key.startswith(f"{query.name}/") for key in raised):
        return query
    joins = raised_joins(problem, query, point)
    below: dict[str, Aliases] = {alias: frozenset({alias}) for alias in query.sources}
    operators: list[Operator] = []
    for op in query.operators:
        inputs = [below[name] for name in op.inputs]
        below[op.id] = reduce(or_, inputs)
        if isinstance(op, Filter) and f"{query.name}/{op.id}" in raised:
            op = op.changed(selectivity=max(op.selectivity, op.max_selectivity))
        elif isinstance(op, Join):
            apart = prod(growth(joins, own) for own in inputs)
            op = op.changed(selectivity=op.selectivity * growth(joins, below[op.id]) / apart)
        operators.append(op)
    return replace(query, operators=tuple(operators))


def plan_at(problem: Problem, plan: Plan, point: int) -> Plan:
    """A plan with the selectivities of a point of the profile."""
    if not problem.raised or not problem.raised[point]:
        return plan
    return replace(
        plan,
        queries=tuple(replace(q, query=at_point(problem, q.query, point)) for q in plan.queries),
    )


def raised_joins(problem: Problem, query: Query, point: int) -> list[RaisedJoin]:
    """The joins of the written query whose selectivities are raised at a point."""
    raised = problem.raised[point] if problem.raised else frozenset()
    written = next((each for each in problem.queries if each.name == query.name), query)
    return [
        (frozenset(op.aliases), op.max_selectivity / op.selectivity)
        for op in written.operators
        if isinstance(op, Join) and uncertain(op) and f"{query.name}/{op.id}" in raised
    ]


def growth(joins: Sequence[RaisedJoin], aliases: Aliases) -> float:
    """What raised joins multiply the rate of a set of sources by."""
    return prod(factor for named, factor in joins if named <= aliases)
