"""What every strategy of this folder shares: admission, ties, the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Protocol, TypeVar

from weir_placement.cost.allowed import impossible
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, Rejection, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.objectives import HEADROOM
from weir_placement.options import O, option
from weir_placement.request import PlanRequest
from weir_placement.search.encode import VISITED_SIZE, Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.spaces import WRITTEN, space_of
from weir_placement.strategy import Strategy

BOTH, PHYSICAL, LOGICAL = 3, 1, 2
"""Which moves a search makes."""


@dataclass
class SearchResult:
    """What a search leaves in its encoding: the best configuration is the present one."""

    value: float
    bound: float = HUGE
    proven: bool = False
    extra: dict[str, object] = field(default_factory=dict)


Search = Callable[[Encoding, O, float], SearchResult]
"""Searches an encoding with options until a deadline (`perf_counter`)."""


@dataclass(frozen=True)
class WalkOptions:
    """What every walk has."""

    ties: bool = option(
        True,
        "small moves at the end choose, among plans of equal headroom, the one with less network usage, and "
        "may climb a little; off: the paper's algorithm and nothing else",
    )


W = TypeVar("W", bound=WalkOptions)
W_contra = TypeVar("W_contra", bound=WalkOptions, contravariant=True)
Walk = Callable[[Encoding, W, int], float]
"""Walks over configurations with options and moves; the best value it saw."""


class WalkSearch(Protocol[W_contra]):
    """A search by a walk."""

    def __call__(
        self, encoding: Encoding, options: W_contra, deadline: float, moves: int = BOTH
    ) -> SearchResult: ...


def plan_with(
    name: str,
    search: Search[O],
    problem: Problem,
    request: PlanRequest,
    options: O,
    table: int = VISITED_SIZE,
) -> Result:
    """Plans all queries together; if that is infeasible, admits them one by one by priority."""
    started = perf_counter()
    deadline = started + request.time_limit

    def attempt(queries: list[Query]) -> _Outcome:
        if not queries:
            return _Outcome(SearchResult(HUGE), Plan(()), None, 0)
        encoding = Encoding(problem, queries, seed=request.seed, visited=table)
        result = search(encoding, options, deadline)
        value = encoding.run(code.EVALUATE)
        space = space_of(queries, encoding.blocks)
        if space == WRITTEN:
            result = replace(result, bound=HUGE, proven=False)
        result = replace(result, extra={**result.extra, "space": space})
        return _Outcome(result, encoding.plan(), None if value >= HUGE else value, encoding.evaluations)

    rejected = [Rejection(q.name, r) for q in problem.queries if (r := impossible(problem, q))]
    refused = {r.query for r in rejected}
    candidates = sorted(
        (q for q in problem.queries if q.name not in refused), key=lambda q: (-q.priority, q.name)
    )
    outcome = attempt(candidates)
    if not outcome.feasible:
        accepted: list[Query] = []
        for query in candidates:
            more = attempt([*accepted, query])
            if more.feasible:
                accepted.append(query)
                outcome = more
            else:
                reasons = evaluate(problem, more.plan).reasons
                rejected.append(Rejection(query.name, "; ".join(map(str, reasons))))
        if not accepted:
            outcome = attempt([])
    search_result, value = outcome.search, outcome.value
    return Result(
        plan=Plan(outcome.plan.queries, tuple(rejected)),
        strategy=name,
        objective=request.objective.name,
        value=value,
        bound=None if value is None or search_result.bound >= HUGE else max(search_result.bound, value),
        proven=search_result.proven or (value is None and bool(outcome.plan.queries)),
        evaluations=outcome.evaluations,
        seconds=perf_counter() - started,
        seed=request.seed,
        extra=search_result.extra,
    )


def strategy(
    name: str, paper: str, guarantee: str, search: Search[O], parameters: type[O], table: int = VISITED_SIZE
) -> Strategy[O]:
    """The strategy that plans for headroom by one search; `table` is how many logical plans it remembers."""

    def plan(problem: Problem, request: PlanRequest, options: O) -> Result:
        return plan_with(name, search, problem, request, options, table)

    return Strategy(name, paper, (HEADROOM,), guarantee, plan, parameters)


@dataclass
class _Outcome:
    search: SearchResult
    plan: Plan
    value: float | None  # None: unbounded; negative: infeasible
    evaluations: int

    @property
    def feasible(self) -> bool:
        return self.value is None or self.value >= 0


def best_of(encoding: Encoding, value: float, polished: bool = True) -> float:
    """Makes the best configuration the present one, and breaks ties among equals by small moves."""
    encoding.recall()
    if polished and value < HUGE * 2:
        value = encoding.run(code.POLISH, rounds=20)
        encoding.recall()
    return value


def from_random(walk: Walk[W]) -> WalkSearch[W]:
    """The search that walks from a random placement of the written plan, or without `PHYSICAL` moves from
    the present one; of `BOTH`, it breaks ties at the end if the option `ties` says so."""

    def search(encoding: Encoding, options: W, deadline: float, moves: int = BOTH) -> SearchResult:
        if moves & PHYSICAL:
            encoding.run(code.SCATTER)
        value = walk(encoding, options, moves)
        return SearchResult(best_of(encoding, value, moves == BOTH and options.ties))

    return search
