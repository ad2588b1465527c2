"""Simulated annealing (section 5.1.4 of 000): worse configurations are accepted less and less."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import LOGICAL, PHYSICAL, TIES, from_random, strategy

DEFAULTS = {"temperatures": 4.0, "iterations": 400.0, "alpha": 0.5, "hot": 0.3, "cold": 0.01, **TIES}
"""The paper's parameters (section 6): temperatures, iterations at each, alpha = share of physical moves;
the first and last temperature, which it does not give, are relative changes of the headroom."""


@from_random
def search(encoding: Encoding, options: Mapping[str, float], moves: int) -> float:
    """Anneals from a random placement of the written plan."""
    alpha = {PHYSICAL: 1.0, LOGICAL: 0.0}.get(moves, options["alpha"])
    return encoding.run(
        code.ANNEAL,
        int(options["temperatures"]),
        int(options["iterations"]),
        reals=(alpha, options["hot"], options["cold"], HUGE),
    )


annealing = strategy("annealing", search, DEFAULTS)
"""Plans a problem by simulated annealing."""
