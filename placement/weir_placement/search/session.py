"""What every strategy of this folder shares: admission, ties, the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Protocol, TypeVar

from weir_placement.cost.allowed import impossible
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.amounts import enough
from weir_placement.model.plan import Plan, PlanCost, Rejection, Result
from weir_placement.model.problem import Problem, Query
from weir_placement.model.space import Space
from weir_placement.objectives import HEADROOM
from weir_placement.options import O, option
from weir_placement.proof import with_proof
from weir_placement.request import PlanRequest, not_found
from weir_placement.search.economy import economise, reached
from weir_placement.search.encode import VISITED_SIZE, Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel.entry_codes import BOTH, PHYSICAL
from weir_placement.search.spaces import space_of
from weir_placement.strategy import Strategy

ADMISSION = 0.25
"""Share of the time that is kept for admitting queries one by one, should they not all fit."""
TIES = 0.1
"""Share of a search's time, at its end, that is kept for breaking ties."""


@dataclass
class SearchResult:
    """What a search leaves in its encoding: the best configuration is the present one."""

    value: float
    bound: float = HUGE
    proven: bool = False
    extra: dict[str, object] = field(default_factory=dict)
    space: Space | None = None
    proof_steps: int = 0  # for a proof that no plan costs less, where there is a headroom that is enough
    cost: PlanCost | None = None


SearchFunction = Callable[[Encoding, O, float], SearchResult]
"""Searches an encoding with options until a deadline (`perf_counter`)."""


@dataclass(frozen=True)
class WalkOptions:
    """What every walk has."""

    ties: bool = option(
        True,
        "at the end, small moves choose among plans of equal headroom the one with the least network usage, "
        "and may raise the headroom a little; off: the paper's algorithm alone",
    )


W = TypeVar("W", bound=WalkOptions)
W_contra = TypeVar("W_contra", bound=WalkOptions, contravariant=True)
WalkFunction = Callable[[Encoding, W, int], float]
"""Walks over configurations with options and moves; the best value it saw."""


class WalkSearch(Protocol[W_contra]):
    """A search by a walk."""

    def __call__(
        self, encoding: Encoding, options: W_contra, deadline: float, moves: int = BOTH
    ) -> SearchResult: ...


def plan_with(
    name: str,
    search: SearchFunction[O],
    problem: Problem,
    request: PlanRequest,
    options: O,
    table: int = VISITED_SIZE,
) -> Result:
    """Plans all queries together; if that is infeasible, admits them one by one by priority, each in an equal
    share of the time that is left. A query for which it runs out is refused as not found."""
    started = perf_counter()
    deadline = started + request.time_limit

    evaluations = 0

    def attempt(queries: list[Query], seconds: float) -> _Outcome:
        nonlocal evaluations
        if not queries:
            return _Outcome(SearchResult(HUGE), Plan(()), None, False)
        end = perf_counter() + seconds
        encoding = Encoding(problem, queries, seed=request.seed, visited=table)
        encoding.deadline = end
        encoding.stop_at(end - TIES * seconds)
        result = search(encoding, options, end)
        value = encoding.run(code.EVALUATE)
        if reached(value, problem.enough):
            encoding.stop_at(end)
            cost, proven = economise(encoding, encoding.enough, result.proof_steps)
            value = encoding.run(code.EVALUATE)
            result = replace(result, bound=HUGE, proven=proven, cost=cost)
        space = space_of(queries, encoding.blocks)
        if space.as_written:
            result = replace(result, bound=HUGE, proven=False)
        result = replace(result, space=space)
        late = encoding.counter(code.LATE) != 0
        evaluations += encoding.evaluations
        return _Outcome(result, encoding.plan(), None if value >= HUGE else value, late)

    rejected = [Rejection(q.name, r) for q in problem.queries if (r := impossible(problem, q))]
    refused = {r.query for r in rejected}
    candidates = sorted(
        (q for q in problem.queries if q.name not in refused), key=lambda q: (-q.priority, q.name)
    )
    reserve = ADMISSION * request.time_limit if len(candidates) > 1 else 0.0
    outcome = attempt(candidates, deadline - reserve - perf_counter())
    if not outcome.feasible:
        accepted: list[Query] = []
        for number, query in enumerate(candidates):
            left = deadline - perf_counter()
            if accepted and left < 0:
                rejected.append(Rejection(query.name, not_found(perf_counter() - started)))
                continue
            more = attempt([*accepted, query], left / (len(candidates) - number))
            if more.feasible:
                accepted.append(query)
                outcome = more
            else:
                sure = more.search.proven and not more.late
                begin = "" if sure else f"{not_found(perf_counter() - started)}; the best plan found: "
                rejected.append(_rejection(problem, query, more.plan, begin))
        if not accepted:
            outcome = attempt([], 0.0)
    search_result, value = outcome.search, outcome.value
    result = Result(
        plan=Plan(outcome.plan.queries, tuple(rejected)),
        strategy=name,
        objective=request.objective.name,
        value=value,
        bound=None if value is None or search_result.bound >= HUGE else max(search_result.bound, value),
        cost=search_result.cost,
        proven=False,
        evaluations=evaluations,
        seconds=perf_counter() - started,
        seed=request.seed,
        space=search_result.space,
        extra=search_result.extra,
    )
    unbounded = value is None and bool(outcome.plan.queries) and result.cost is None
    return with_proof(result, search_result.proven or unbounded)


def strategy(
    name: str,
    paper: str,
    guarantee: str,
    search: SearchFunction[O],
    parameters: type[O],
    table: int = VISITED_SIZE,
) -> Strategy[O]:
    """The strategy that plans for headroom by one search; `table` is how many logical plans it remembers."""

    def plan(problem: Problem, request: PlanRequest, options: O) -> Result:
        return plan_with(name, search, problem, request, options, table)

    return Strategy(name, paper, (HEADROOM,), guarantee, plan, parameters)


def _rejection(problem: Problem, query: Query, plan: Plan, begin: str) -> Rejection:
    """`plan` is the best that was found with the query."""
    evaluation = evaluate(problem, plan)
    late = all(r.resource == "latency" and r.place == f"query {query.name}" for r in evaluation.reasons)
    hint = enough(evaluation.latency[query.name]) if late else ""
    return Rejection(query.name, begin + "; ".join(map(str, evaluation.reasons)) + hint, late=late)


@dataclass
class _Outcome:
    search: SearchResult
    plan: Plan
    value: float | None  # None: unbounded; negative: infeasible
    late: bool  # its time was over before it ended

    @property
    def feasible(self) -> bool:
        return self.value is None or self.value >= 0


def best_of(encoding: Encoding, value: float, polished: bool = True) -> float:
    """Makes the best configuration the present one, and breaks ties among equals by small moves."""
    encoding.recall()
    encoding.stop_at(encoding.deadline)
    if polished and value < HUGE * 2:
        value = encoding.run(code.POLISH, rounds=20)
        encoding.recall()
    return value


def from_random(walk: WalkFunction[W]) -> WalkSearch[W]:
    """The search that walks from a random placement of the written plan, or without `PHYSICAL` moves from
    the present one; of `BOTH`, it breaks ties at the end if the option `ties` says so."""

    def search(encoding: Encoding, options: W, deadline: float, moves: int = BOTH) -> SearchResult:
        if moves & PHYSICAL:
            encoding.run(code.SCATTER)
        value = walk(encoding, options, moves)
        return SearchResult(best_of(encoding, value, moves == BOTH and options.ties))

    return search
