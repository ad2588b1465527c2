"""Two phases ([1]_, section 5.4): the logical plan on its own, then its placement.

In the first phase there is no placement: a logical plan is judged as if on a single machine, with all
capacity together, as figure 5 does. What is chosen there the second phase cannot change.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from weir_placement.options import option
from weir_placement.search import annealing, greedy, reactive_tabu, tabu
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel.entry_codes import LOGICAL, PHYSICAL
from weir_placement.search.session import SearchResult, best_of, strategy

ALGORITHMS: tuple[tuple[Callable[..., SearchResult], Any], ...] = (
    (greedy.search, greedy.GreedyOptions()),
    (tabu.search, tabu.TabuOptions()),
    (reactive_tabu.search, reactive_tabu.ReactiveTabuOptions()),
    (annealing.search, annealing.AnnealingOptions()),
)


@dataclass(frozen=True)
class TwoPhaseOptions:
    """The algorithm of both phases, with its own defaults."""

    algorithm: int = option(4, "0 greedy, 1 tabu, 2 reactive tabu, 3 annealing, 4 exhaustive", most=4)
    steps: int = option(10**9, "maximum number of placement steps of the exhaustive search")


def search(encoding: Encoding, options: TwoPhaseOptions, deadline: float) -> SearchResult:
    """Both phases with the chosen algorithm, each in half of the time."""
    which = options.algorithm
    encoding.stop_at((perf_counter() + deadline) / 2)
    fields = ("cpu_", "memory_of_", "choice_first", "choice_last", "choice")
    real = {name: encoding.read(name) for name in fields}
    _single_machine(encoding)
    if which < len(ALGORITHMS):
        run, parameters = ALGORITHMS[which]
        run(encoding, parameters, deadline, LOGICAL)
    else:
        encoding.run(code.EXHAUST, steps=options.steps, cheapest=0, best=-HUGE)
        encoding.recall()
    for name, values in real.items():
        encoding.write(name, values)
    encoding.stop_at(deadline)
    choice = encoding.read("choice")
    encoding.write("node", [choice[a] if a < b else -1 for a, b in _ranges(encoding)])
    if which < len(ALGORITHMS):
        return run(encoding, parameters, deadline, PHYSICAL)
    value = encoding.run(code.PLACE, steps=options.steps, cheapest=0, best=-HUGE)
    return SearchResult(best_of(encoding, value, polished=False))


def _single_machine(encoding: Encoding) -> None:
    """Everything on node 0, which has the capacity of all."""
    for name in ("cpu_", "memory_of_"):
        values = encoding.read(name)
        encoding.write(name, [min(sum(values), HUGE), *values[1:]])
    counts = [min(b - a, 1) for a, b in _ranges(encoding)]
    encoding.write("choice_first", [0] * len(counts))
    encoding.write("choice_last", counts)
    encoding.write("choice", [0] * max(counts))
    encoding.write("node", [0 if count else -1 for count in counts])


def _ranges(encoding: Encoding) -> list[tuple[int, int]]:
    """Where each item's candidates begin and end."""
    return list(zip(encoding.read("choice_first"), encoding.read("choice_last"), strict=True))


TWO_PHASE = strategy(
    "two-phase",
    "WhiteWater, section 5.4",
    "the best placement of one logical plan",
    search,
    TwoPhaseOptions,
    1 << 20,
)
