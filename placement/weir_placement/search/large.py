"""Many operators: packing and short annealing in turn.

From a packing (`kernel.pack`) a short annealing moves a part of the operators, and the next
packing begins from there, with another logical plan and the headroom found so far. Annealing from chance, as
`auto` does with fewer, would need steps in proportion to operators times nodes.
"""

from __future__ import annotations

from time import perf_counter

from weir_placement.search.bounds import upper_bound
from weir_placement.search.encode import Encoding
from weir_placement.search.item import EQUAL, HUGE
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.kernel.entry_codes import PLAIN
from weir_placement.search.session import SearchResult

LARGE = 300
"""Items (operators, sources, sinks) from which on `auto` searches so."""
PACKINGS = 4
"""In a row, each at the headroom of the one before."""
ROUNDS = 12
"""Of annealing and packing, while more than `NEAR` is missing to the bound."""
NEAR = 3e-4
"""Relative: a value that is no further below the bound is good enough."""
EFFORT = 200_000
"""Nodes and items looked at by the steps of one annealing at one temperature where flows count: each step
then sums all streams of the nodes that it touches."""


def search_large(encoding: Encoding, deadline: float) -> SearchResult:
    """The best of all rounds; a bound as for small problems."""
    encoding.reset()
    encoding.run(code.SCATTER)
    best = encoding.run(code.PACK, packings=PACKINGS)
    configuration = encoding.best()
    bound = HUGE if best >= HUGE else upper_bound(encoding, best, PLAIN)
    encoding.put(configuration)
    steps, nodes = len(encoding.items), encoding.dims["nodes"]
    if encoding.dims["flags"]:
        steps = min(steps, EFFORT // (nodes + 2 * steps // nodes))
    for _ in range(ROUNDS):
        if best >= min(bound, HUGE, encoding.enough) * (1 - NEAR) or perf_counter() > deadline:
            break
        for command in (code.SETTLE, code.PACK):
            if command == code.SETTLE:
                value = encoding.run(code.SETTLE, iterations=steps, goal=HUGE)
            else:
                value = encoding.run(code.PACK, packings=PACKINGS)
            if value > best * (1 + EQUAL):
                best, configuration = value, encoding.best()
    encoding.put(configuration)
    return SearchResult(best, bound)
