"""Reactive tabu search (section 5.1.3 of 000): the list's length follows the search, cycles are escaped."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import TIES, from_random, strategy

DEFAULTS = {"iterations": 1000.0, "list": 1.0, "cycle": 50.0, "increase": 1.1, "decrease": 0.9, **TIES}
"""The paper's parameters (section 6): list size at first, maximum cycle size, increase, decrease."""


@from_random
def search(encoding: Encoding, options: Mapping[str, float], moves: int) -> float:
    """Searches from a random placement of the written plan."""
    return encoding.run(
        code.REACTIVE,
        int(options["iterations"]),
        int(options["cycle"]),
        moves,
        reals=(options["list"], options["increase"], options["decrease"], HUGE),
    )


reactive_tabu = strategy("reactive-tabu", search, DEFAULTS)
"""Plans a problem by reactive tabu search."""
