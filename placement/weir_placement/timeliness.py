"""Limits on latency for objectives whose plans must carry the profile: what waits there counts against them.

Those planners know paths on idle nodes, which no plan's are below. What their plan is late with at the
expected rates is refused: without it the others only wait less.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from weir_placement.cost.evaluation import TOLERANCE, evaluate
from weir_placement.model.amounts import enough
from weir_placement.model.plan import Plan, Rejection, Result
from weir_placement.model.problem import Problem
from weir_placement.objectives import OBJECTIVES
from weir_placement.proof import with_proof


def in_time(problem: Problem, result: Result) -> Result:
    """The result without the queries that are late at the expected rates, one after the other: the one that
    exceeds its limit by the largest share first."""
    objective = OBJECTIVES[result.objective]
    if not objective.at_profile or all(q.query.max_latency == inf for q in result.plan.queries):
        return result
    plan = result.plan
    while True:
        evaluation = evaluate(problem, plan)
        late = {
            q.query.name: evaluation.latency[q.query.name] / q.query.max_latency
            for q in plan.queries
            if evaluation.latency[q.query.name] > q.query.max_latency * (1 + TOLERANCE)
        }
        if not late:
            break
        worst = max(late, key=lambda name: (late[name], name))
        plan = _without(plan, worst, evaluation.latency[worst])
    if plan is result.plan:
        return result
    changed = replace(result, plan=plan, value=objective.value(evaluation), bound=None, proven_within=None)
    return with_proof(changed, False)


def _without(plan: Plan, query: str, seconds: float) -> Plan:
    (refused,) = (q for q in plan.queries if q.query.name == query)
    limit = refused.query.max_latency
    takes = f"takes {seconds:.6g} s" if seconds < inf else "falls behind"
    reason = f"the plan {takes} at the expected rates, where operators wait; the limit is {limit:.6g} s"
    reason += enough(seconds)
    kept = tuple(q for q in plan.queries if q.query.name != query)
    return Plan(kept, (*plan.rejected, Rejection(query, reason, late=True)))
