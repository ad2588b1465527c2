"""Greedy local improvement ([1]_, section 5.1.1): the best neighbour until none is better.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.options import option
from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import WalkOptions, from_random, strategy


@dataclass(frozen=True)
class GreedyOptions(WalkOptions):
    """The paper's parameters (section 6)."""

    iterations: int = option(1000, "maximum number of moves")


@from_random
def search(encoding: Encoding, options: GreedyOptions, moves: int) -> float:
    """Climbs from a random placement of the written plan."""
    return encoding.run(code.CLIMB, iterations=options.iterations, moves=moves)


GREEDY = strategy("greedy", "WhiteWater, section 5.1.1", "a local optimum", search, GreedyOptions)
