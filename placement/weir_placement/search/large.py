"""Many operators: packing and short annealing in turn.

From a packing (`kernel.pack`) a short annealing moves a part of the operators, and the next
packing begins from there, with another logical plan and the headroom found so far. Annealing from chance, as
`auto` does with fewer, would need steps in proportion to operators times nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from weir_placement.search.bounds import PLAIN, upper_bound
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import Found, best_of

LARGE = 300
"""Items (operators, sources, sinks) from which on `auto` searches so."""
PACKINGS = 4
"""In a row, each at the headroom of the one before."""
ROUNDS = 12
"""Of annealing and packing, while more than `NEAR` is missing to the bound."""
NEAR = 3e-4
EFFORT = 200_000
"""Nodes and items looked at by the steps of one annealing at one temperature where flows count: each step
then sums all streams of the nodes that it touches."""
EQUAL = 1e-9


def search_large(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """The best of all rounds; a bound as for small problems."""
    floor = options.get("floor", -HUGE)
    if floor > 0:
        bound = upper_bound(encoding, floor, PLAIN)
        if bound <= floor * (1 + EQUAL):
            return Found(floor, bound)
    encoding.reset()
    encoding.run(code.SCATTER)
    best = encoding.run(code.PACK, PACKINGS)
    kept = encoding.best()
    bound = HUGE if best >= HUGE else upper_bound(encoding, best, PLAIN)
    encoding.put(kept)
    steps, nodes = len(encoding.items), encoding.dims["nodes"]
    if encoding.dims["flags"]:
        steps = min(steps, EFFORT // (nodes + 2 * steps // nodes))
    for _ in range(ROUNDS):
        if best >= min(bound, HUGE) * (1 - NEAR) or perf_counter() > deadline:
            break
        for command, number in ((code.SETTLE, steps), (code.PACK, PACKINGS)):
            value = encoding.run(command, number, reals=(0.0, 0.0, 0.0, HUGE))
            if value > best * (1 + EQUAL):
                best, kept = value, encoding.best()
    encoding.put(kept)
    final = best_of(encoding, best)
    proven = best >= HUGE or final >= bound * (1 - 2 * EQUAL)
    return Found(final, max(bound, final), proven)
