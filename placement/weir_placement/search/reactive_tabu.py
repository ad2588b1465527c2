"""Reactive tabu search ([1]_, section 5.1.3; [2]_): the list follows the search, cycles are escaped.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
.. [2] Roberto Battiti, Giampietro Tecchiolli, "The Reactive Tabu Search", ORSA Journal on Computing 6, 1994.
"""

from __future__ import annotations

from dataclasses import dataclass

from weir_placement.options import option
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import WalkOptions, from_random, strategy


@dataclass(frozen=True)
class ReactiveTabuOptions(WalkOptions):
    """The paper's parameters (section 6)."""

    iterations: int = option(1000, "maximum number of moves")
    list_size: float = option(
        1.0, "initial length of the tabu list: configurations that may not be visited again", name="list"
    )
    cycle: int = option(50, "longest cycle that counts as a repetition", unit="iterations")
    increase: float = option(1.1, "factor by which the tabu list grows at a repetition", least=1.0)
    decrease: float = option(0.9, "factor by which the tabu list shrinks without repetitions", most=1.0)


@from_random
def search(encoding: Encoding, options: ReactiveTabuOptions, moves: int) -> float:
    """Searches from a random placement of the written plan."""
    return encoding.run(
        code.REACTIVE,
        iterations=options.iterations,
        cycle=options.cycle,
        moves=moves,
        list_size=options.list_size,
        increase=options.increase,
        decrease=options.decrease,
        goal=HUGE,
    )


REACTIVE_TABU = strategy("reactive-tabu", "WhiteWater, section 5.1.3", "none", search, ReactiveTabuOptions)
