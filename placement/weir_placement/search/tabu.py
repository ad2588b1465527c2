"""Tabu search (section 5.1.2 of 000): moves of the last iterations are not undone."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import TIES, from_random, strategy

DEFAULTS = {"iterations": 1000.0, "list": 1000.0, **TIES}
"""The paper's parameters (section 6)."""


@from_random
def search(encoding: Encoding, options: Mapping[str, float], moves: int) -> float:
    """Searches from a random placement of the written plan."""
    return encoding.run(
        code.TABU, int(options["iterations"]), int(options["list"]), moves, reals=(0.0, 0.0, 0.0, HUGE)
    )


tabu = strategy("tabu", search, DEFAULTS)
"""Plans a problem by tabu search."""
