"""The default: a portfolio within the time limit, with the best bound that is known.

Annealing by crowding (`kernel.settle`) finds a good plan; then either every plan is looked at by branch
and bound with that value to beat (small problems: a proof), or longer and longer restarts go on until the
upper bound of `bounds` is reached or the effort is used up.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Unpack

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.request import PlanRequest, StrategyFunction
from weir_placement.search import clones, forms
from weir_placement.search.bounds import PACKED, PLAIN, is_bound, upper_bound
from weir_placement.search.compiled import searches
from weir_placement.search.encode import NO_TABLE, VISITED_SIZE, Encoding
from weir_placement.search.item import EQUAL, HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.large import LARGE, NEAR, search_large
from weir_placement.search.session import Found, Search, best_of, plan_with, read_options

DEFAULTS = {"iterations": 100.0, "restarts": 8.0, "steps": 1e5, "items": 16.0}
"""iterations: of each temperature of the first annealing. restarts: annealings at most, each twice as long
as the one before, the last two only while more than `NEAR` is missing. steps: of the proof, which is tried
up to so many `items` (operators, sources, sinks): with more there are too many logical plans."""

WIDE = 64
"""Nodes from which on a step of the proof costs in proportion to them, and there are less steps."""
SLOWER = 4
"""Restarts less where flows count: an evaluation takes some twenty times as long."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """A search by size, and small moves at its end; nothing where no plan exceeds the option `floor`."""
    large = len(encoding.items) > LARGE
    floor, bound = options.get("floor", -HUGE), HUGE
    if floor > 0:
        bound = upper_bound(encoding, floor, PLAIN if large else PACKED)
        if bound <= floor * (1 + EQUAL):
            return Found(floor, bound)
    found = search_large(encoding, deadline) if large else _portfolio(encoding, options, deadline, bound)
    value = best_of(encoding, found.value)
    return Found(value, max(found.bound, value), found.proven or value >= found.bound * (1 - 2 * EQUAL))


def _portfolio(encoding: Encoding, options: Mapping[str, float], deadline: float, bound: float) -> Found:
    """Anneals, bounds, proves or anneals again."""
    best, kept, proven = -HUGE * 2, None, False
    iterations, restarts = int(options["iterations"]), max(1, int(options["restarts"]))
    if encoding.dims["flags"]:
        restarts = max(1, restarts - SLOWER)
    for restart in range(restarts):
        if restart >= restarts - 2 and restart and bound <= best * (1 + NEAR):
            break
        encoding.reset()
        encoding.run(code.SCATTER)
        value = encoding.run(code.SETTLE, iterations << restart, reals=(0.0, 0.0, 0.0, bound * (1 - EQUAL)))
        if kept is None or value > best * (1 + EQUAL):
            best, kept = value, encoding.best()
            if best >= HUGE:
                proven = True
            elif bound >= HUGE:
                bound = upper_bound(encoding, best)
            elif is_bound(encoding, best * (1 + EQUAL)):
                bound = best * (1 + EQUAL)
        proven = proven or best >= bound * (1 - 2 * EQUAL)
        if not proven and restart == 0 and len(encoding.items) <= options["items"]:
            wide = max(1.0, encoding.dims["nodes"] / WIDE)
            proof = _prove(encoding, best, int(options["steps"] / wide))
            if proof is not None:
                if proof > best * (1 + EQUAL):
                    best, kept = proof, encoding.best()
                bound, proven = best, True
        if proven or perf_counter() > deadline:
            break
    assert kept is not None
    encoding.put(kept)
    return Found(best, bound, proven)


def _prove(encoding: Encoding, best: float, steps: int) -> float | None:
    """The optimum, if the steps suffice to look at every plan that may exceed `best`."""
    encoding.reset()
    encoding.write("out", [0] * 7, start=1)
    value = encoding.run(code.EXHAUST, steps, reals=(0.0, 0.0, 0.0, best))
    return None if encoding.counter(5) else value


def _items(problem: Problem) -> int:
    return sum(len(q.operators) + len(q.sources) + 1 for q in problem.queries)


def over_forms(
    name: str, search: Search, defaults: Mapping[str, float], table: int = VISITED_SIZE
) -> StrategyFunction:
    """A strategy by a search that takes the option `floor`: over the forms of the queries, with clones."""
    around = {**forms.OPTIONS, **clones.OPTIONS, **{k: v for k, v in defaults.items() if k in forms.OPTIONS}}

    def plan(problem: Problem, **request: Unpack[PlanRequest]) -> Result:
        searches()  # without cached code the compiler runs now, and does not eat the time that is given
        deadline = perf_counter() + request["time_limit"]
        given = read_options({**defaults, **around}, request["options"])
        own = {option: value for option, value in request["options"].items() if option not in around}

        def form(p: Problem, floor: float) -> Result:
            here: PlanRequest = {**request, "time_limit": deadline - perf_counter(), "options": own}
            plans = table if _items(p) <= given["items"] else NO_TABLE
            return plan_with(name, search, {**defaults, "floor": floor}, p, here, plans)

        def once(p: Problem) -> Result:
            if not given["forms"]:
                return form(p, -HUGE)
            best = forms.best_form(p, form, deadline)
            if best.value is None or not _small(p, best, given["small"]):
                return best
            return forms.over_table_6(p, best, int(given["plans"]), deadline)

        return once(problem) if given["clones"] < 2 else clones.with_clones(problem, once, given, deadline)

    return plan


def _small(problem: Problem, best: Result, most: float) -> bool:
    """One query with projections to move, whose plans may be looked at one by one."""
    one = len(problem.queries) == 1 and len(best.plan.queries) == 1
    return one and _items(problem) <= most and any(o.kind == "project" for o in problem.queries[0].operators)


auto = over_forms("auto", search, DEFAULTS)
"""Plans a problem by the portfolio; with the option `clones`, hot operators may use several nodes."""
