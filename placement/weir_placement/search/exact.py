"""Branch and bound over logical and physical choices together, to a proof.

As `exhaustive`, but it starts from what annealing found, so nearly every branch is cut at once, and when
the time is up it still gives a valid upper bound (`bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from weir_placement.objectives import HEADROOM
from weir_placement.options import option
from weir_placement.search import auto
from weir_placement.search.economy import reached
from weir_placement.search.encode import Encoding
from weir_placement.search.session import SearchResult
from weir_placement.strategy import Strategy

MOST_STEPS = 10**12
"""Of a proof."""


@dataclass(frozen=True)
class ExactOptions(auto.AutoOptions):
    """As `auto`, with more of everything."""

    small: int = option(40, "largest number of operators, sources and sinks of a small query")
    iterations: int = option(400, "moves of the first annealing", unit="per temperature", most=1e9)
    steps: int = option(
        1_000_000, "maximum number of steps of the first proof; each later one has ten times as many"
    )
    items: int | None = option(
        None,
        "largest number of operators, sources and sinks of a problem for which a proof is tried",
        none="any",
    )


def search(encoding: Encoding, options: auto.AutoOptions, deadline: float, floor: float) -> SearchResult:
    """`auto` with a growing budget."""
    while True:
        result = auto.search(encoding, options, deadline, floor)
        if reached(result.value, encoding.enough):
            return replace(result, proof_steps=MOST_STEPS)
        if result.proven or perf_counter() > deadline or options.steps > MOST_STEPS:
            return result
        options = replace(options, steps=10 * options.steps)


EXACT = Strategy(
    "exact",
    "beyond WhiteWater",
    (HEADROOM,),
    "the optimum, proved, if the time limit allows; else the best found with an upper bound",
    auto.over_forms("exact", search, 1 << 20),
    ExactOptions,
)
"""Plans a problem to a proof."""
