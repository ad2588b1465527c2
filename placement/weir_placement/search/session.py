"""What every strategy of this folder shares: options, admission, ties, the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Unpack

from weir_placement.cost.allowed import impossible
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, Rejection, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.request import PlanRequest, StrategyFunction
from weir_placement.search.encode import VISITED_SIZE, Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code

BOTH, PHYSICAL, LOGICAL = 3, 1, 2
"""Which moves a search makes."""
TIES = {"ties": 1.0}
"""1: among plans of equal headroom small moves at the end choose the one with less network usage; they may
also climb a little. 0: the paper's algorithm and nothing else."""


@dataclass
class Found:
    """What a search leaves in its encoding: the best configuration is the present one."""

    value: float
    bound: float = HUGE
    proven: bool = False
    extra: dict[str, object] = field(default_factory=dict)


Search = Callable[[Encoding, Mapping[str, float], float], Found]
"""Searches an encoding with options until a deadline (`perf_counter`)."""

Walk = Callable[[Encoding, Mapping[str, float], int], float]
"""Walks over configurations with options and moves; the best value it saw."""


def read_options(defaults: Mapping[str, float], given: Mapping[str, str]) -> dict[str, float]:
    """The options with their defaults.

    Raises:
        ValueError: an option that the strategy does not have, or a value that is no number.
    """
    values = dict(defaults)
    for name, text in given.items():
        if name not in defaults:
            known = ", ".join(f"{k}={v:g}" for k, v in defaults.items()) or "none"
            raise ValueError(f"--set {name}={text}: no such option; this strategy has {known}")
        try:
            values[name] = float(text)
        except ValueError:
            raise ValueError(f"--set {name}={text}: a number is needed, as {defaults[name]:g}") from None
    return values


def plan_with(
    name: str,
    search: Search,
    defaults: Mapping[str, float],
    problem: Problem,
    request: PlanRequest,
    table: int = VISITED_SIZE,
) -> Result:
    """Plans all queries together; if that is infeasible, admits them one by one by priority."""
    started = perf_counter()
    objective, seed = request["objective"], request["seed"]
    if objective != "headroom":
        raise ValueError(f"strategy {name} plans for headroom, not {objective}")
    values = read_options(defaults, request["options"])
    deadline = started + request["time_limit"]
    rejected = [Rejection(q.name, r) for q in problem.queries if (r := impossible(problem, q))]
    refused = {r.query for r in rejected}
    candidates = sorted(
        (q for q in problem.queries if q.name not in refused), key=lambda q: (-q.priority, q.name)
    )
    outcome = _try(problem, candidates, search, values, seed, deadline, table)
    if not _feasible(outcome):
        accepted: list[Query] = []
        for query in candidates:
            attempt = _try(problem, [*accepted, query], search, values, seed, deadline, table)
            if _feasible(attempt):
                accepted.append(query)
                outcome = attempt
            else:
                reasons = evaluate(problem, attempt.plan).reasons
                rejected.append(Rejection(query.name, "; ".join(reasons)))
        if not accepted:
            outcome = _try(problem, [], search, values, seed, deadline, table)
    found, value = outcome.found, outcome.value
    return Result(
        plan=Plan(outcome.plan.queries, tuple(rejected)),
        strategy=name,
        objective=objective,
        value=value,
        bound=None if value is None or found.bound >= HUGE else max(found.bound, value),
        proven=found.proven or (value is None and bool(outcome.plan.queries)),
        evaluations=outcome.evaluations,
        seconds=perf_counter() - started,
        seed=seed,
        extra=found.extra,
    )


def strategy(
    name: str, search: Search, defaults: Mapping[str, float], table: int = VISITED_SIZE
) -> StrategyFunction:
    """The strategy that plans by one search; `table` is how many logical plans it can remember."""

    def plan(problem: Problem, **request: Unpack[PlanRequest]) -> Result:
        return plan_with(name, search, defaults, problem, request, table)

    return plan


@dataclass
class _Outcome:
    found: Found
    plan: Plan
    value: float | None  # None: unbounded; negative: infeasible
    evaluations: int


def _try(
    problem: Problem,
    queries: list[Query],
    search: Search,
    options: Mapping[str, float],
    seed: int,
    deadline: float,
    table: int,
) -> _Outcome:
    if not queries:
        return _Outcome(Found(HUGE), Plan(()), None, 0)
    encoding = Encoding(problem, queries, seed=seed, visited=table)
    found = search(encoding, options, deadline)
    value = encoding.run(code.EVALUATE)
    return _Outcome(found, encoding.plan(), None if value >= HUGE else value, encoding.evaluations)


def _feasible(outcome: _Outcome) -> bool:
    return outcome.value is None or outcome.value >= 0


def best_of(encoding: Encoding, value: float, polished: bool = True) -> float:
    """Makes the best configuration the present one, and breaks ties among equals by small moves."""
    encoding.recall()
    if polished and value < HUGE * 2:
        value = encoding.run(code.POLISH, 20)
        encoding.recall()
    return value


def from_random(walk: Walk) -> Callable[..., Found]:
    """The search that walks from a random placement of the written plan, or without `PHYSICAL` moves from
    the present one; of `BOTH`, it breaks ties at the end if the option `ties` says so."""

    def search(encoding: Encoding, options: Mapping[str, float], deadline: float, moves: int = BOTH) -> Found:
        if moves & PHYSICAL:
            encoding.run(code.SCATTER)
        value = walk(encoding, options, moves)
        return Found(best_of(encoding, value, moves == BOTH and options["ties"] > 0))

    return search
