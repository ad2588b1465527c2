"""Plans within budgets: what the fragments of some queries may ask for together, as a namespace's quota says.

A fragment asks for the same wherever it runs, so a budget bounds the number of fragments. The strategies do
not know that. Around any of them: queries are admitted by priority as long as each fits with the fewest
fragments that it can have (`compact`); the strategy plans those; and where its plan has more fragments than
the budgets allow, neighbouring ones are put together (`fitting`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from time import perf_counter

from weir_placement.budget.compact import fewest_fragments
from weir_placement.budget.fitting import Fitting
from weir_placement.cost.allowed import impossible
from weir_placement.cost.budget import amount_text, fits, fragments_text, shortage
from weir_placement.cost.evaluation import evaluate
from weir_placement.cost.flows import fragment_ends
from weir_placement.model.plan import Plan, PlanCost, Rejection, Result
from weir_placement.model.problem import Budget, Problem
from weir_placement.objectives import EQUAL, Objective
from weir_placement.proof import with_proof
from weir_placement.request import PlanFunction, PlanRequest


def plan_within(function: PlanFunction, problem: Problem, request: PlanRequest) -> Result:
    """The plan of a strategy, brought within the budgets of the problem.

    A query is refused only if it does not fit with the fewest fragments it can have beside those of higher
    priority, or if no plan with so few that is found can be carried out. A plan that was changed is proven
    only if its value is the bound of the problem without budgets.
    """
    started = perf_counter()
    deadline = started + request.time_limit
    unfit: dict[str, str] = {}  # no plan with so few fragments was found for them
    hopeless: dict[str, str] = {}  # there is no room for them beside those that are admitted
    while True:
        admitted, refused = admit(problem, {*unfit, *hopeless})
        within = replace(problem, queries=tuple(q for q in problem.queries if q.name in admitted), budgets=())
        seconds = max(deadline - perf_counter(), 0.1 * request.time_limit)
        result = function(within, replace(request, time_limit=seconds))
        impossible_ones = {r.query: r.reason for r in result.plan.rejected}
        short = {r.query: r.short for r in result.plan.rejected}
        if impossible_ones and refused:
            hopeless |= impossible_ones  # what they would have asked for is left for others
            continue
        fitting = Fitting(problem, request.objective, deadline)
        plan = fitting.fit(result.plan)
        if isinstance(plan, Plan):
            break
        unfit, hopeless = {**unfit, **plan}, {}
    reasons = {**unfit, **hopeless, **refused, **impossible_ones}
    named = (query.name for query in problem.queries if query.name in reasons)
    rejected = tuple(Rejection(name, reasons[name], short.get(name, ())) for name in named)
    seconds = perf_counter() - started
    if plan.queries == result.plan.queries:
        return replace(result, plan=replace(plan, rejected=rejected), seconds=seconds)
    return replace(
        _valued(request.objective, within, result, plan),
        plan=replace(plan, rejected=rejected),
        seconds=seconds,
        evaluations=result.evaluations + fitting.evaluations,
    )


def admit(problem: Problem, hopeless: Collection[str] = ()) -> tuple[frozenset[str], dict[str, str]]:
    """Names of the queries that fit, by falling priority, and why the others do not."""
    left = {budget.name: budget for budget in problem.budgets}
    of: dict[str, list[str]] = {}
    for budget in problem.budgets:
        for name in budget.each:
            of.setdefault(name, []).append(budget.name)
    admitted, refused = set(), {}
    for query in sorted(problem.queries, key=lambda q: (-q.priority, q.name)):
        if query.name in hopeless:
            continue
        bounds = of.get(query.name, ())
        if bounds and not impossible(problem, query):
            fewest = len(fragment_ends(fewest_fragments(problem, query)))
            if reasons := too_many((left[b] for b in bounds), query.name, fewest):
                refused[query.name] = reasons
                continue
            for b in bounds:
                rest = left[b].left - left[b].of(query.name, fewest)
                left[b] = replace(left[b], left=rest)
        admitted.add(query.name)
    return frozenset(admitted), refused


def too_many(budgets: Iterable[Budget], query: str, fragments: int) -> str:
    """Why so many fragments of a query are too many for what is left; empty when they are not."""
    return "; ".join(
        shortage(b, b.of(query, fragments), _for(b, query, fragments))
        for b in budgets
        if query in b.each and not fits(b, b.of(query, fragments))
    )


def _for(budget: Budget, query: str, fragments: int) -> str:
    each, state = budget.each[query], budget.state.get(query, 0.0)
    text = f"for at least {fragments_text(fragments)} of {amount_text(each, budget.unit)}"
    return f"{text}, and {amount_text(state, budget.unit)} for its state" if state else text


def _cost(problem: Problem, plan: Plan, before: PlanCost) -> PlanCost | None:
    """What a plan costs, if it still has enough headroom; before it was changed it cost something else."""
    evaluation = evaluate(problem, plan)
    if problem.enough is None or evaluation.rank < problem.enough * (1 - EQUAL):
        return None
    usage, fragments = evaluation.network_usage, evaluation.fragments
    return PlanCost(evaluation.hosts, usage, fragments, evaluation.moves, before.least_hosts)


def _valued(objective: Objective, problem: Problem, result: Result, plan: Plan) -> Result:
    """The result with the value of another plan of the same queries."""
    value, bound = objective.value(evaluate(problem, plan)), result.bound
    if result.cost is not None:
        return with_proof(replace(result, value=value, cost=_cost(problem, plan, result.cost)), False)
    if value is None:
        return with_proof(replace(result, value=None, bound=None), True)
    if bound is None:
        return with_proof(replace(result, value=value), False)
    reached = objective.reached(value, bound)
    return with_proof(replace(result, value=value, bound=objective.outer(value, bound)), reached)
