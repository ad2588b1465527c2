"""Greedy local improvement (section 5.1.1 of 000): the best neighbour until none is better."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import TIES, from_random, strategy

DEFAULTS = {"iterations": 1000.0, **TIES}
"""The paper's parameters (section 6)."""


@from_random
def search(encoding: Encoding, options: Mapping[str, float], moves: int) -> float:
    """Climbs from a random placement of the written plan."""
    return encoding.run(code.CLIMB, int(options["iterations"]), moves)


greedy = strategy("greedy", search, DEFAULTS)
"""Plans a problem by hill climbing."""
