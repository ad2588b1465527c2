"""The default: a portfolio within the time limit, with the best bound that is known.

Annealing by crowding (`kernel.settle`) finds a good plan; then either every plan is looked at by branch
and bound with that value to beat (small problems: a proof), or longer and longer restarts go on until the
upper bound of `bounds` is reached or the effort is used up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.model.space import Space
from weir_placement.objectives import HEADROOM
from weir_placement.options import option
from weir_placement.proof import with_proof
from weir_placement.request import PlanRequest
from weir_placement.search import clones, forms
from weir_placement.search.arrays import searches
from weir_placement.search.bounds import is_bound, upper_bound
from weir_placement.search.clones import CloneOptions
from weir_placement.search.economy import reached
from weir_placement.search.encode import NO_TABLE, VISITED_SIZE, Encoding
from weir_placement.search.forms import FormOptions
from weir_placement.search.integer import narrowed
from weir_placement.search.item import EQUAL, HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel.entry_codes import PACKED, PLAIN
from weir_placement.search.large import LARGE, NEAR, search_large
from weir_placement.search.least_hosts import with_least_hosts
from weir_placement.search.priced_bound import priced_bound
from weir_placement.search.session import SearchResult, best_of, plan_with
from weir_placement.strategy import Strategy

WIDE = 64
"""Nodes from which on a step of the proof costs in proportion to them, and there are less steps."""
FLOWS_RESTARTS, FLOWS_DOUBLINGS = 3, 5
"""Where flows count most annealings end far from the best plan: so many times the restarts, which double
only so often."""


@dataclass(frozen=True)
class AutoOptions(FormOptions, CloneOptions):
    """The last two restarts go on only while more than `NEAR` is missing. The proof is tried up to so many
    `items`: with more there are too many logical plans."""

    iterations: int = option(100, "moves of the first annealing", unit="per temperature", most=1e9)
    restarts: int = option(
        8, "maximum number of annealings, each twice as long as the one before", least=1, most=24
    )
    steps: int = option(100_000, "maximum number of steps of the proof")
    items: int | None = option(
        16,
        "largest number of operators, sources and sinks of a problem for which a proof is tried",
        none="any",
    )


def search(encoding: Encoding, options: AutoOptions, deadline: float, floor: float) -> SearchResult:
    """A search by size, and small moves at its end; nothing where no plan exceeds `floor`."""
    large = len(encoding.items) > LARGE
    bound = HUGE
    if floor > 0:
        bound = upper_bound(encoding, floor, PLAIN if large else PACKED)
        if bound <= floor * (1 + EQUAL):
            return SearchResult(floor, bound)
    result = search_large(encoding, deadline) if large else _portfolio(encoding, options, deadline, bound)
    value = best_of(encoding, result.value)
    return SearchResult(
        value,
        max(result.bound, value),
        result.proven or value >= result.bound * (1 - 2 * EQUAL),
        proof_steps=options.steps if _provable(len(encoding.items), options) else 0,
    )


def _portfolio(encoding: Encoding, options: AutoOptions, deadline: float, bound: float) -> SearchResult:
    """Anneals, bounds, proves or anneals again."""
    best, best_configuration, proven = -HUGE * 2, None, False
    iterations, restarts = options.iterations, options.restarts
    doublings, near = restarts, max(restarts - 2, 1)
    if encoding.dims["flags"]:
        restarts, doublings, near = FLOWS_RESTARTS * restarts, FLOWS_DOUBLINGS, FLOWS_DOUBLINGS
    for restart in range(restarts):
        if restart >= near and bound <= best * (1 + NEAR):
            break
        encoding.reset()
        encoding.run(code.SCATTER)
        value = encoding.run(
            code.SETTLE, iterations=iterations << min(restart, doublings), goal=bound * (1 - EQUAL)
        )
        if best_configuration is None or value > best * (1 + EQUAL):
            best, best_configuration = value, encoding.best()
            if reached(best, encoding.enough):
                break
            if best >= HUGE:
                proven = True
            elif bound >= HUGE:
                bound = upper_bound(encoding, best)
            elif is_bound(encoding, best * (1 + EQUAL)):
                bound = best * (1 + EQUAL)
        proven = proven or best >= bound * (1 - 2 * EQUAL)
        if not proven and restart == 0 and _provable(len(encoding.items), options):
            wide = max(1.0, encoding.dims["nodes"] / WIDE)
            proof = _prove(encoding, best, int(options.steps / wide))
            if proof is not None:
                if proof > best * (1 + EQUAL):
                    best, best_configuration = proof, encoding.best()
                bound, proven = best, True
        if proven or perf_counter() > deadline:
            break
    assert best_configuration is not None
    encoding.put(best_configuration)
    return SearchResult(best, bound, proven)


def _prove(encoding: Encoding, best: float, steps: int) -> float | None:
    """The optimum, if the steps suffice to look at every plan that may exceed `best`."""
    encoding.reset()
    encoding.write("out", [0] * 7, start=1)
    value = encoding.run(code.EXHAUST, steps=steps, cheapest=0, best=best)
    return None if encoding.counter(code.GAVE_UP) else value


def _items(problem: Problem) -> int:
    return sum(len(q.operators) + len(q.sources) + 1 for q in problem.queries)


def _provable(items: int, options: AutoOptions) -> bool:
    return options.items is None or items <= options.items


FloorSearch = Callable[[Encoding, AutoOptions, float, float], SearchResult]
"""As `session.Search`, but it need not find a plan where none exceeds the last argument."""


def over_forms(
    name: str, search: FloorSearch, table: int = VISITED_SIZE
) -> Callable[[Problem, PlanRequest, AutoOptions], Result]:
    """Plans by a search over the forms of the queries, with clones."""

    def plan(problem: Problem, request: PlanRequest, options: AutoOptions) -> Result:
        searches()  # without cached code the compiler runs now, and does not eat the time that is given
        deadline = perf_counter() + request.time_limit

        def form(p: Problem, floor: float) -> Result:
            def above(encoding: Encoding, options: AutoOptions, deadline: float) -> SearchResult:
                return search(encoding, options, deadline, floor)

            rest = replace(request, time_limit=deadline - perf_counter())
            plans = table if _provable(_items(p), options) else NO_TABLE
            return plan_with(name, above, p, rest, options, plans)

        def once(p: Problem) -> Result:
            if not options.forms:
                return form(p, -HUGE)
            best = forms.best_form(p, form, deadline)
            if best.cost is not None:
                if _small(p, best, options.small):
                    best = forms.cheapest_of_swaps(p, best, options.plans, deadline)
                return with_least_hosts(p, best, deadline)
            best = _bounded(p, best, deadline)
            if best.value is None or not _small(p, best, options.small):
                return best
            return forms.over_every_swap(p, best, options.plans, deadline)

        cloned = options.clones >= 2
        return clones.with_clones(problem, once, options, deadline) if cloned else once(problem)

    return plan


def _bounded(problem: Problem, best: Result, deadline: float) -> Result:
    """The result with the bounds that know links and memory, if one is better; or a better plan for which
    integer programs found one."""
    if best.value is None or best.proven or not best.plan.queries:
        return best
    planned = {placed.query.name for placed in best.plan.queries}
    admitted = replace(problem, queries=tuple(q for q in problem.queries if q.name in planned))
    bound = priced_bound(admitted, best.value, deadline)
    of_some = HUGE if best.bound is None else best.bound
    if bound < of_some:
        reached = bound <= best.value
        space = Space.ALL if reached else best.space
        best = with_proof(replace(best, bound=bound, space=space), reached)
    elif best.space is Space.ALL:
        bound = of_some
    return best if best.proven else narrowed(admitted, best, bound, deadline)


def _small(problem: Problem, best: Result, most: int) -> bool:
    """One query whose plans the compiled moves do not reach all, and that may be looked at one by one."""
    one = len(problem.queries) == 1 and len(best.plan.queries) == 1
    return one and _items(problem) <= most and best.space is not Space.ALL


AUTO = Strategy(
    "auto",
    "beyond WhiteWater",
    (HEADROOM,),
    "the best of a portfolio with an upper bound; proved optimal when that is reached",
    over_forms("auto", search),
    AutoOptions,
)
"""Plans a problem by the portfolio; with the option `clones`, hot operators may use several nodes."""
