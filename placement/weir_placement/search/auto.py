"""The default: a portfolio within the time limit, with the best bound that is known.

Annealing finds a good plan; then either every plan is looked at by branch and bound with that value to
beat (small problems: a proof), or restarts go on until the upper bound of `bounds` is reached or the
effort is used up.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.search.bounds import upper_bound
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import Found, best_of, plan_with

DEFAULTS = {"iterations": 400.0, "restarts": 8.0, "steps": 1e5}
"""iterations: of each temperature of an annealing. restarts: annealings at most. steps: of the proof."""

EQUAL = 1e-9


def search(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """Anneals, bounds, proves or anneals again."""
    best, kept, bound, proven = -HUGE * 2, None, HUGE, False
    iterations = int(options["iterations"])
    for restart in range(max(1, int(options["restarts"]))):
        if kept is None or restart % 2 == 0:
            encoding.reset()
            encoding.run(code.SCATTER)
        else:
            encoding.put(kept)
        goal = bound * (1 - EQUAL)
        encoding.run(code.ANNEAL, 4, iterations << (restart // 2), reals=(0.5, 0.3, 0.01, goal))
        encoding.recall()
        value = encoding.run(code.POLISH, 5)
        encoding.recall()
        if kept is None or value > best * (1 + EQUAL):
            best, kept = value, encoding.configuration()
        if restart == 0 and best < HUGE:
            encoding.reset()
            encoding.run(code.EVALUATE)
            bound = upper_bound(encoding, best)
            if best < bound * (1 - 2 * EQUAL):
                proof = _prove(encoding, best, int(options["steps"]))
                if proof is not None:
                    if proof > best * (1 + EQUAL):
                        best, kept = proof, encoding.best()
                    bound = best
        proven = best >= bound * (1 - 2 * EQUAL)
        if proven or best >= HUGE or perf_counter() > deadline:
            break
    assert kept is not None
    encoding.put(kept)
    final = best_of(encoding, best)
    return Found(final, max(bound, final), proven)


def _prove(encoding: Encoding, best: float, steps: int) -> float | None:
    """The optimum, if the steps suffice to look at every plan that may exceed `best`."""
    encoding.reset()
    encoding.write("out", [0] * 7, start=1)
    value = encoding.run(code.EXHAUST, steps, reals=(0.0, 0.0, 0.0, best))
    return None if encoding.counter(5) else value


def auto(
    problem: Problem,
    *,
    objective: Objective,
    seed: int,
    time_limit: float,
    options: Mapping[str, str],
) -> Result:
    """Plans a problem by the portfolio."""
    return plan_with("auto", search, DEFAULTS, problem, objective, seed, time_limit, options)
