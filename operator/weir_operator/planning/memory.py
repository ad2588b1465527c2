"""Queries whose state does not fit into memory are refused: they would fill their heap, and start again.

Less CPU than the expected rates need only makes a query fall behind, and a plan with a headroom below 1 is in
force all the same. State that does not fit ends the process, for ever. A heap follows from the state
(`cost.heap`), and no query is moved to another kind of state store, which is slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weir_placement.cost.budget import amount_text
from weir_placement.cost.constraint import Constraint
from weir_placement.cost.evaluation import TOLERANCE, evaluate
from weir_placement.cost.flows import flows_of, scaled
from weir_placement.cost.rules import RULES
from weir_placement.model.plan import Plan, QueryPlan, Rejection, Result
from weir_placement.model.problem import Problem


def plan_within_memory(plan: Callable[[Problem], Result], problem: Problem) -> Result:
    """`plan` of the problem's queries, without those that are too many for the memory of a node at the rates
    of the profile: the least important ones, and of these the largest. What is in force is never refused.

    It plans again for as long as that refuses a query: twice as a rule.
    """
    refused: dict[str, Rejection] = {}
    while True:
        queries = tuple(query for query in problem.queries if query.name not in refused)
        result = plan(replace(problem, queries=queries))
        more = too_large(replace(problem, queries=queries, budgets=()), result.plan)
        if not more:
            rejected = (*result.plan.rejected, *refused.values())
            return replace(result, plan=replace(result.plan, rejected=rejected)) if refused else result
        refused |= {rejection.query: rejection for rejection in more}


def too_large(problem: Problem, plan: Plan) -> list[Rejection]:
    """The queries that have to go, so that each node's memory is enough for the others."""
    in_force = {placed.query for placed in problem.in_force}
    rejections: dict[str, Rejection] = {}
    over = _over(problem, plan)
    for constraint in _short(over):
        (node,), missing = constraint.nodes, constraint.load(1.0) - constraint.capacity
        memory = {placed.query.name: _state_on(problem, placed, node, constraint) for placed in plan.queries}
        missing -= sum(memory[name] for name in rejections)
        order = sorted(
            (p.query for p in plan.queries if memory[p.query.name] > 0 and p.query.name not in in_force),
            key=lambda query: (query.priority, -memory[query.name], query.name),
        )
        for query in order:
            if missing <= 0:
                break
            if query.name not in rejections:
                beside = _beside(over, constraint, set(_placed(plan, query.name).nodes.values()))
                rejections[query.name] = Rejection(query.name, _why(constraint, memory[query.name], beside))
                missing -= memory[query.name]
    return list(rejections.values())


def _over(problem: Problem, plan: Plan) -> list[Constraint]:
    """What the expected rates overload, the worst first; of each resource of a place where it is shortest."""
    worst: dict[str, Constraint] = {}
    for constraint in evaluate(problem, plan).constraints:
        if constraint.load(1.0) > constraint.capacity * (1 + TOLERANCE):
            worst.setdefault(constraint.name, constraint)
    return list(worst.values())


def _short(over: list[Constraint]) -> list[Constraint]:
    """Those of memory."""
    return [constraint for constraint in over if constraint.resource == "memory"]


def _placed(plan: Plan, name: str) -> QueryPlan:
    return next(placed for placed in plan.queries if placed.query.name == name)


def _beside(over: list[Constraint], first: Constraint, nodes: set[str]) -> list[str]:
    """What else is too little where the query runs."""
    return [each.name for each in over if each is not first and nodes.intersection(each.nodes)]


def _state_on(problem: Problem, placed: QueryPlan, node: str, constraint: Constraint) -> float:
    """[bytes] That a query's operators on a node take, at the constraint's point of the profile."""
    query = placed.query
    flows = flows_of(query, problem.streams, scaled(problem.points()[constraint.point]))
    return sum(
        RULES[op.kind].memory(op, [flows[name] for name in op.inputs])(1.0)
        for op in query.operators
        if placed.nodes[op.id] == node
    )


def _why(constraint: Constraint, memory: float, beside: list[str]) -> str:
    needed, capacity = amount_text(constraint.load(1.0), "bytes"), amount_text(constraint.capacity, "bytes")
    own = amount_text(memory, "bytes")
    return (
        f"{constraint.name}: {needed} needed at the expected rates, {own} of it by this query, but only "
        f"{capacity} available; give the query shorter windows, or its nodes more memory"
        + (f" (also short at these rates: {', '.join(beside)})" if beside else "")
    )
