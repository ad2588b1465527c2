"""Tabu search ([1]_, section 5.1.2): moves of the last iterations are not undone.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.options import option
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import WalkOptions, from_random, strategy


@dataclass(frozen=True)
class TabuOptions(WalkOptions):
    """The paper's parameters (section 6)."""

    iterations: int = option(1000, "maximum number of moves")
    list_size: int = option(1000, "length of the tabu list: moves that may not be undone", name="list")


@from_random
def search(encoding: Encoding, options: TabuOptions, moves: int) -> float:
    """Searches from a random placement of the written plan."""
    return encoding.run(
        code.TABU,
        iterations=options.iterations,
        list_size=options.list_size,
        moves=moves,
        goal=HUGE,
    )


TABU = strategy("tabu", "WhiteWater, section 5.1.2", "none", search, TabuOptions)
