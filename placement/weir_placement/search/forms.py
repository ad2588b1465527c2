"""Projections that leave their side of a join: what the compiled searches do not move themselves.

A compiled search swaps selections, joins, and projections on their side of the joins. Around it, `auto`
plans two forms of the written queries, both with projections pushed to the sources and merged: in the first
those above all joins stay there. (As written, a projection between joins keeps them from changing places.)
A small query's other plans are then looked at one by one, so that a proof holds over all legal swaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, Result
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.objectives import HEADROOM
from weir_placement.options import option
from weir_placement.proof import with_proof
from weir_placement.search.economy import exhausted
from weir_placement.search.encode import Encoding
from weir_placement.search.item import EQUAL, HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.spaces import drops_columns

TABLE = 64
SWAP_STEPS = 100_000
"""Of placing one logical plan."""


@dataclass(frozen=True)
class FormOptions:
    """Which plans with projections are looked at."""

    forms: bool = option(
        True, "search plans with projections pushed down as well; off: only plans as the queries are written"
    )
    plans: int = option(2000, "maximum number of logical plans of a small query that are searched one by one")
    small: int = option(8, "largest number of operators, sources and sinks of a small query")


def forms_of(problem: Problem) -> list[Problem]:
    """The problem's forms, each once: the one that is best most often comes first."""
    if not any(drops_columns(query) for query in problem.queries):
        return [problem]
    from weir_placement.rewrite.projections import pushed  # imports the parser

    pushes = [tuple(pushed(q, problem.streams, top) for q in problem.queries) for top in (False, True)]
    forms: list[Problem] = []
    for queries in pushes:
        if all(queries != form.queries for form in forms):
            forms.append(replace(problem, queries=queries))
    return forms


def best_form(problem: Problem, plan: Callable[[Problem, float], Result], deadline: float) -> Result:
    """The best plan of all forms; its bound is the largest of theirs. `plan` takes a value to beat."""
    best: Result | None = None
    bound, evaluations = 0.0, 0
    cheapest = True
    for form in forms_of(problem):
        if best is not None and best.value is None and best.cost is None:
            break
        if best is not None and perf_counter() > deadline:
            bound, cheapest = HUGE, False  # that form may hold a better plan
            break
        floor = -HUGE if best is None or best.value is None or best.cost else best.value
        result = plan(form, floor)
        evaluations += result.evaluations
        bound = max(bound, HUGE if result.bound is None else result.bound)
        cheapest = cheapest and _cheapest(problem, result)
        if best is None or _better(result, best):
            best = result
    assert best is not None
    if best.cost is not None:
        space = Space.PUSHED if best.space is Space.KEPT else best.space
        return with_proof(replace(best, evaluations=evaluations, space=space), cheapest)
    if best.value is None or best.plan.rejected:
        return best
    result = replace(
        best,
        bound=None if bound >= HUGE else max(bound, best.value),
        evaluations=evaluations,
        space=Space.PUSHED if best.space is Space.KEPT else best.space,
    )
    return with_proof(result, best.value >= bound * (1 - 2 * EQUAL))


def _cheapest(problem: Problem, result: Result) -> bool:
    """Whether a form is known to have no cheaper plan with enough headroom."""
    if result.cost is not None:
        return result.reached
    return problem.enough is not None and result.bound is not None and result.bound < problem.enough


def _better(one: Result, other: Result) -> bool:
    if len(one.plan.queries) != len(other.plan.queries):
        return len(one.plan.queries) > len(other.plan.queries)
    if one.cost is not None or other.cost is not None:
        return one.cost is not None and (other.cost is None or one.cost.below(other.cost))
    if one.value is None or other.value is None:
        return one.value is None and other.value is not None
    return one.value > other.value * (1 + EQUAL)


def over_every_swap(problem: Problem, best: Result, most: int, deadline: float) -> Result:
    """`best` or what beats it among all logical plans of the problem's one query: proven, if there are
    at most `most`."""
    from weir_placement.rewrite.rewriter import Rewriter

    (query,) = problem.queries
    value = best.value
    assert value is not None
    better: tuple[Encoding, float] | None = None
    count = 0
    evaluations = best.evaluations
    for count, logical in enumerate(
        islice(Rewriter(query, problem.streams).reachable(most + 1), most + 1), 1
    ):
        if count > most or perf_counter() > deadline:
            return _so_far(problem, best, better, evaluations)
        encoding = Encoding(problem, [replace(logical, fixed_order=True)], seed=best.seed, visited=TABLE)
        encoding.stop_at(deadline)
        placed = encoding.run(code.PLACE, steps=SWAP_STEPS, cheapest=0, best=value)
        evaluations += encoding.evaluations
        if encoding.counter(code.GAVE_UP):
            return _so_far(problem, best, better, evaluations)
        if placed > value * (1 + EQUAL):
            better, value = (encoding, placed), placed
    result = _so_far(problem, best, better, evaluations)
    assert result.value is not None
    extra: Mapping[str, object] = {**result.extra, "logicalPlans": count}
    return with_proof(replace(result, bound=result.value, space=Space.ALL, extra=extra), True)


def _so_far(
    problem: Problem, best: Result, better: tuple[Encoding, float] | None, evaluations: int
) -> Result:
    """`best`, or the plan that beats it, with all that was looked at."""
    if better is None:
        return replace(best, evaluations=evaluations)
    encoding, value = better
    plan = _recalled(problem, encoding)
    bound = None if best.bound is None else max(best.bound, value)
    return with_proof(replace(best, plan=plan, value=value, bound=bound, evaluations=evaluations), False)


def _recalled(problem: Problem, encoding: Encoding) -> Plan:
    """The best configuration as a plan of the problem's queries, which may have another order."""
    encoding.recall()
    encoding.run(code.EVALUATE)
    written = {query.name: query.fixed_order for query in problem.queries}
    return Plan(
        tuple(
            replace(p, query=replace(p.query, fixed_order=written[p.query.name]))
            for p in encoding.plan().queries
        )
    )


def cheapest_of_swaps(problem: Problem, best: Result, most: int, deadline: float) -> Result:
    """`best`, which has enough headroom, or what costs less among all logical plans of the problem's one
    query: proven, if there are at most `most`."""
    from weir_placement.rewrite.rewriter import Rewriter

    (query,) = problem.queries
    count = 0
    for count, logical in enumerate(
        islice(Rewriter(query, problem.streams).reachable(most + 1), most + 1), 1
    ):
        if count > most or perf_counter() > deadline:
            return best
        encoding = Encoding(problem, [replace(logical, fixed_order=True)], seed=best.seed, visited=TABLE)
        encoding.stop_at(deadline)
        least = best.cost
        assert least is not None
        cost, complete = exhausted(encoding, least, SWAP_STEPS, code.PLACE)
        best = replace(best, evaluations=best.evaluations + encoding.evaluations)
        if cost.below(least):
            plan = _recalled(problem, encoding)
            best = replace(best, plan=plan, value=HEADROOM.value(evaluate(problem, plan)), cost=cost)
        if not complete:
            return with_proof(best, False)
    extra: Mapping[str, object] = {**best.extra, "logicalPlans": count}
    return with_proof(replace(best, space=Space.ALL, extra=extra), True)
