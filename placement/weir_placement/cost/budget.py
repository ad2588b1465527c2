"""Budgets: what the fragments of some queries ask for together, against what they may."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.cost.constraint import Reason, share_of
from weir_placement.cost.flows import fragment_ends
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Budget, Problem, Unit

TOLERANCE = 1e-9
MEBIBYTE = 2.0**20


def fragments_of(plan: Plan) -> dict[str, int]:
    """Fragments of each query."""
    return {placed.query.name: len(fragment_ends(placed)) for placed in plan.queries}


def requested(budget: Budget, fragments: Mapping[str, int]) -> float:
    """What so many fragments of each query ask for."""
    return sum(budget.of(query, fragments.get(query, 0)) for query in budget.each)


def fits(budget: Budget, amount: float) -> bool:
    """Whether no more is asked for than is left; nothing always fits."""
    return amount <= 0 or amount <= budget.left + TOLERANCE * max(1.0, abs(budget.hard))


def exceeded(problem: Problem, plan: Plan) -> list[Budget]:
    """The budgets that a plan does not keep."""
    fragments = fragments_of(plan)
    return [budget for budget in problem.budgets if not fits(budget, requested(budget, fragments))]


def amount_text(amount: float, unit: Unit) -> str:
    """An amount with its unit.

    >>> amount_text(0.3, "cores"), amount_text(1270874112.0, "bytes"), amount_text(3.0, "")
    ('0.3 cores', '1212Mi', '3')
    """
    if unit == "bytes":
        return f"{amount / MEBIBYTE:.6g}Mi"
    return f"{amount:.6g} {unit}".strip()


def shortage(budget: Budget, request: float, why: str) -> str:
    """What is wrong, with the numbers: `why` says what it is needed for."""
    left, hard = amount_text(max(budget.left, 0.0), budget.unit), amount_text(budget.hard, budget.unit)
    return f"{budget.name}: {amount_text(request, budget.unit)} needed {why}, {left} left of {hard}"


def shortages(problem: Problem, plan: Plan) -> list[Reason]:
    """Why a plan does not keep its budgets; empty when it does."""
    fragments = fragments_of(plan)
    reasons = []
    for budget in exceeded(problem, plan):
        count = sum(n for query, n in fragments.items() if query in budget.each)
        request = requested(budget, fragments)
        text = shortage(budget, request, f"by {fragments_text(count)}")
        reasons.append(Reason("budget", budget.name, share_of(request, budget.left), text))
    return reasons


def fragments_text(fragments: int) -> str:
    """`1 fragment`, `2 fragments`."""
    return f"{fragments} fragment{'' if fragments == 1 else 's'}"
