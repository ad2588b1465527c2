"""The one function that Python calls: `run(command, ...)` on a state."""

from __future__ import annotations

from weir_placement.search.kernel.bound import fullness
from weir_placement.search.kernel.demand import prepare
from weir_placement.search.kernel.entry_codes import (
    ANNEAL,
    BOUND,
    CLIMB,
    EVALUATE,
    EXHAUST,
    PACK,
    PLACE,
    POLISH,
    REACTIVE,
    SCATTER,
    SETTLE,
    TABU,
)
from weir_placement.search.kernel.evaluator import rebuild
from weir_placement.search.kernel.exact import exhaust, place_all
from weir_placement.search.kernel.fixed import settle_fixed
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.local import anneal, climb, reactive_tabu, scatter, tabu
from weir_placement.search.kernel.moves import save
from weir_placement.search.kernel.pack import pack
from weir_placement.search.kernel.settle import settle
from weir_placement.search.kernel.ties import polish


@jit
def run(st: State, command: int, a: int, b: int, c: int, w: float, x: float, y: float, z: float) -> float:
    """The value of what the command finds; a, b, c, w, x, y, z are its parameters, as seen below."""
    if command == EVALUATE:
        return rebuild(st)
    if command == SCATTER:
        scatter(st)
        v = rebuild(st)
        save(st)
        return v
    if command == ANNEAL:
        return anneal(st, a, b, w, x, y, z)
    if command == SETTLE:
        return settle(st, a, z) if st.flags else settle_fixed(st, a, z)
    if command == PACK:
        return pack(st, a)
    if command == CLIMB:
        return climb(st, a, b)
    if command == TABU:
        return tabu(st, a, b, c, z)
    if command == REACTIVE:
        return reactive_tabu(st, a, w, b, x, y, c, z)
    if command == BOUND:
        return prepare(st) if a == 2 else fullness(st, w, a == 1)
    if command == POLISH:
        return polish(st, a)
    rebuild(st)
    if command == EXHAUST:
        return exhaust(st, z, a, 1)
    if command == PLACE:
        return place_all(st, z, a)
    return exhaust(st, z, a, 0)
