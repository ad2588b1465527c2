"""Simulated annealing ([1]_, section 5.1.4): worse configurations are accepted less and less.

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
from weir_placement.search.kernel.entry_codes import LOGICAL, PHYSICAL
from weir_placement.search.session import WalkOptions, from_random, strategy


@dataclass(frozen=True)
class AnnealingOptions(WalkOptions):
    """The paper's parameters (section 6); the temperatures, which it does not give, are ours."""

    temperatures: int = option(4, "temperatures, from hot to cold", least=1)
    iterations: int = option(400, "moves tried", unit="per temperature")
    alpha: float = option(0.5, "share of moves that change nodes, not the logical plan", most=1.0)
    hot: float = option(0.3, "first temperature", unit="relative change of headroom", least=1e-12)
    cold: float = option(0.01, "last temperature", unit="relative change of headroom", least=1e-12)


@from_random
def search(encoding: Encoding, options: AnnealingOptions, moves: int) -> float:
    """Anneals from a random placement of the written plan."""
    alpha = {PHYSICAL: 1.0, LOGICAL: 0.0}.get(moves, options.alpha)
    return encoding.run(
        code.ANNEAL,
        temperatures=options.temperatures,
        iterations=options.iterations,
        alpha=alpha,
        hot=options.hot,
        cold=options.cold,
        goal=HUGE,
    )


ANNEALING = strategy("annealing", "WhiteWater, section 5.1.4", "none", search, AnnealingOptions)
