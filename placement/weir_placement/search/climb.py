"""Hill climbing on the written order with the plain evaluation: small, slow, needs no compiled code."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from time import perf_counter

from weir_placement.cost.evaluation import Evaluation, evaluate
from weir_placement.model.plan import Plan, Rejection, Result
from weir_placement.model.problem import Objective, Problem, Query
from weir_placement.search.space import Space, impossible


def climb(
    problem: Problem,
    *,
    objective: Objective,
    seed: int,
    time_limit: float,
    options: Mapping[str, str],
) -> Result:
    """Places queries by priority; one that no placement makes feasible is rejected with its reason."""
    started = perf_counter()
    deadline = started + time_limit
    chooser = random.Random(seed)
    accepted: list[Query] = []
    rejected: list[Rejection] = []
    best: tuple[Plan, Evaluation] | None = None
    evaluations = 0
    for query in sorted(problem.queries, key=lambda q: (-q.priority, q.name)):
        reason = impossible(problem, query)
        if not reason:
            plan, evaluation, count = _improve(problem, [*accepted, query], chooser, deadline)
            evaluations += count
            if evaluation.feasible:
                accepted.append(query)
                best = plan, evaluation
                continue
            reason = "; ".join(evaluation.reasons)
        rejected.append(Rejection(query.name, reason))
    plan, value = (best[0], best[1].headroom) if best else (Plan(()), None)
    plan = Plan(plan.queries, tuple(rejected))
    return Result(plan, "greedy", objective, value, None, False, evaluations, perf_counter() - started, seed)


def _improve(
    problem: Problem, queries: Sequence[Query], chooser: random.Random, deadline: float
) -> tuple[Plan, Evaluation, int]:
    """Best neighbour by moves of one choice, until none is better or the time is up."""
    space = Space(problem, queries)
    assignment = [chooser.choice(choice.nodes) for choice in space.choices]
    plan = space.plan(assignment)
    best = evaluate(problem, plan)
    count = 1
    improved = True
    while improved and perf_counter() < deadline:
        improved = False
        for i, choice in enumerate(space.choices):
            for node in choice.nodes:
                previous = assignment[i]
                if node == previous or perf_counter() > deadline:
                    continue
                assignment[i] = node
                candidate = space.plan(assignment)
                evaluation = evaluate(problem, candidate)
                count += 1
                if evaluation.better_than(best):
                    plan, best, improved = candidate, evaluation, True
                else:
                    assignment[i] = previous
    return plan, best, count
