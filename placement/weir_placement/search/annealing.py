"""Simulated annealing (section 5.1.4 of 000): worse configurations are accepted less and less."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.model.plan import Result
from weir_placement.model.problem import Objective, Problem
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import BOTH, LOGICAL, PHYSICAL, TIES, Found, best_of, plan_with

DEFAULTS = {"temperatures": 4.0, "iterations": 400.0, "alpha": 0.5, "hot": 0.3, "cold": 0.01, **TIES}
"""The paper's parameters (section 6): temperatures, iterations at each, alpha = share of physical moves;
the first and last temperature, which it does not give, are relative changes of the headroom."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float, moves: int = BOTH) -> Found:
    """Anneals from a random placement of the written plan."""
    if moves & PHYSICAL:
        encoding.run(code.SCATTER)
    alpha = {PHYSICAL: 1.0, LOGICAL: 0.0}.get(moves, options["alpha"])
    value = encoding.run(
        code.ANNEAL,
        int(options["temperatures"]),
        int(options["iterations"]),
        reals=(alpha, options["hot"], options["cold"], HUGE),
    )
    return Found(best_of(encoding, value, moves == BOTH and options["ties"] > 0))


def annealing(
    problem: Problem,
    *,
    objective: Objective,
    seed: int,
    time_limit: float,
    options: Mapping[str, str],
) -> Result:
    """Plans a problem by simulated annealing."""
    return plan_with("annealing", search, DEFAULTS, problem, objective, seed, time_limit, options)
