"""The one function that Python calls: `run(command, ...)` on a state."""

from __future__ import annotations

from weir_placement.search.kernel.bound import fullness
from weir_placement.search.kernel.consolidate import consolidate
from weir_placement.search.kernel.demand import prepare
from weir_placement.search.kernel.entry_codes import (
    ANNEAL,
    BOUND,
    CLIMB,
    CONSOLIDATE,
    EVALUATE,
    EXHAUST,
    PACK,
    PACKED,
    POLISH,
    PREPARE,
    REACTIVE,
    SCATTER,
    SETTLE,
    TABU,
)
from weir_placement.search.kernel.evaluator import rebuild
from weir_placement.search.kernel.exact import exhaust, place_one
from weir_placement.search.kernel.fixed import settle_fixed
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.local import anneal, climb, scatter
from weir_placement.search.kernel.moves import save
from weir_placement.search.kernel.pack import pack
from weir_placement.search.kernel.settle import settle
from weir_placement.search.kernel.tabu import reactive_tabu, tabu
from weir_placement.search.kernel.ties import polish


@jit
def run(
    st: State, command: int, i0: int, i1: int, i2: int, r0: float, r1: float, r2: float, r3: float
) -> float:
    """The value of what a command finds; its parameters are those of `entry_codes.PARAMETERS`, in order."""
    if command == EVALUATE:
        return rebuild(st)
    if command == SCATTER:
        scatter(st)
        value = rebuild(st)
        save(st)
        return value
    if command == ANNEAL:
        return anneal(st, i0, i1, r0, r1, r2, r3)
    if command == SETTLE:
        return settle(st, i0, r0) if st.flags else settle_fixed(st, i0, r0)
    if command == PACK:
        return pack(st, i0)
    if command == CLIMB:
        return climb(st, i0, i1)
    if command == TABU:
        return tabu(st, i0, i1, i2, r0)
    if command == REACTIVE:
        return reactive_tabu(st, i0, i1, i2, r0, r1, r2, r3)
    if command == BOUND:
        return prepare(st) if i0 == PREPARE else fullness(st, r0, i0 == PACKED)
    if command == POLISH:
        return polish(st, i0)
    if command == CONSOLIDATE:
        return consolidate(st, i0)
    rebuild(st)
    save(st)
    return exhaust(st, r0, i0, i1) if command == EXHAUST else place_one(st, r0, i0, i1)
