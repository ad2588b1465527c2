"""Tabu search (section 5.1.2 of 000): moves of the last iterations are not undone."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import BOTH, PHYSICAL, TIES, Found, best_of, plan_with

DEFAULTS = {"iterations": 1000.0, "list": 1000.0, **TIES}
"""The paper's parameters (section 6)."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float, moves: int = BOTH) -> Found:
    """Searches from a random placement of the written plan."""
    if moves & PHYSICAL:
        encoding.run(code.SCATTER)
    value = encoding.run(
        code.TABU, int(options["iterations"]), int(options["list"]), moves, reals=(0.0, 0.0, 0.0, HUGE)
    )
    return Found(best_of(encoding, value, moves == BOTH and options["ties"] > 0))


def tabu(
    problem: Problem,
    *,
    objective: Objective,
    seed: int,
    time_limit: float,
    options: Mapping[str, str],
) -> Result:
    """Plans a problem by tabu search."""
    return plan_with("tabu", search, DEFAULTS, problem, objective, seed, time_limit, options)
