"""Reactive tabu search (section 5.1.3 of 000): the list's length follows the search, cycles are escaped."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import BOTH, PHYSICAL, TIES, Found, best_of, plan_with

DEFAULTS = {"iterations": 1000.0, "list": 1.0, "cycle": 50.0, "increase": 1.1, "decrease": 0.9, **TIES}
"""The paper's parameters (section 6): list size at first, maximum cycle size, increase, decrease."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float, moves: int = BOTH) -> Found:
    """Searches from a random placement of the written plan."""
    if moves & PHYSICAL:
        encoding.run(code.SCATTER)
    value = encoding.run(
        code.REACTIVE,
        int(options["iterations"]),
        int(options["cycle"]),
        moves,
        reals=(options["list"], options["increase"], options["decrease"], HUGE),
    )
    return Found(best_of(encoding, value, moves == BOTH and options["ties"] > 0))


def reactive_tabu(
    problem: Problem,
    *,
    objective: Objective,
    seed: int,
    time_limit: float,
    options: Mapping[str, str],
) -> Result:
    """Plans a problem by reactive tabu search."""
    return plan_with("reactive-tabu", search, DEFAULTS, problem, objective, seed, time_limit, options)
