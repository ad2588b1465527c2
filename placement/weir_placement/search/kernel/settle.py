"""Annealing by crowding: what `auto` searches with.

The headroom of a plan is that of its fullest node, so most moves leave it as it is and say nothing. Here
a plan is judged by a high power mean of all nodes' fullness, which every move changes, and two operators
may also change nodes with each other.
"""

from __future__ import annotations

import math

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS
from weir_placement.search.kernel.evaluator import place, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.moves import (
    begin,
    draw,
    draw_rotation,
    finish,
    may_rotate,
    move_to,
    restore_roots,
    rotate,
    rotate_back,
    save,
    take_back,
    touch_around,
    uniform,
)
from weir_placement.search.kernel.neighbourhood import greater

DOUBLINGS = 4
"""The power of the mean is 2^DOUBLINGS."""
TEMPERATURES, HOT, COLD = 8, 0.1, 0.001
SWAPS = 0.6
"""Share of physical moves that exchange two operators."""
ROTATION, SWAP, RELOCATION = 0, 1, 2
"""What a move changes: the order of two joins, the nodes of two operators, the node of one."""


@jit
def crowding(st: State) -> float:
    """Logarithm of the power mean of the nodes' fullness, up to a constant."""
    total = 0.0
    for n in range(st.nodes):
        full = 1.0 / st.root_[n]
        for _ in range(DOUBLINGS):
            full *= full
        total += full
    return math.log(total) / (1 << DOUBLINGS)


@jit
def may_run(st: State, i: int, n: int) -> bool:
    """Whether node n is a candidate of item i."""
    for c in range(st.choice_first[i], st.choice_last[i]):
        if st.choice[c] == n:
            return True
    return False


@jit
def draw_partner(st: State, i: int) -> int:
    """A random item with which item i may exchange nodes; -1 if the drawn one may not."""
    j = draw(st, st.items)
    old, to = st.node[i], st.node[j]
    if to == old or to < 0 or not may_run(st, i, to) or not may_run(st, j, old):
        return -1
    return j


@jit
def _exchange(st: State, i: int, j: int) -> float:
    """Items i and j change nodes; the new value."""
    begin(st)
    touch_around(st, i)
    touch_around(st, j)
    n = st.node[i]
    place(st, i, st.node[j])
    place(st, j, n)
    return finish(st)


@jit
def _exchange_back(st: State, i: int, j: int) -> None:
    n = st.node[i]
    place(st, i, st.node[j])
    place(st, j, n)
    restore_roots(st)


@jit
def settle(st: State, iterations: int, goal: float) -> float:
    """Searches from the present configuration; the best value, whose configuration is saved.

    `iterations` at each of the temperatures, which are relative changes of the mean. It stops early at
    `goal`, which no plan can exceed. Counts its evaluations in out[EVALUATIONS].
    """
    current = rebuild(st)
    best = current
    save(st)
    if best >= goal:
        return best
    crowd = crowding(st) if current > 0 else 0.0
    for level in range(TEMPERATURES):
        t = HOT * (COLD / HOT) ** (level / (TEMPERATURES - 1.0))
        for _ in range(iterations):
            if over(st):
                return best
            i = draw(st, st.items)
            b = j = k = old = -1
            move = ROTATION
            if draw(st, 2) == 0:
                n = st.choice_last[i] - st.choice_first[i]
                if n < 2:
                    continue
                old = st.node[i]
                if uniform(st) < SWAPS:
                    j = draw_partner(st, i)
                    if j < 0:
                        continue
                    move = SWAP
                    v = _exchange(st, i, j)
                else:
                    to = st.choice[st.choice_first[i] + draw(st, n)]
                    if to == old:
                        continue
                    move = RELOCATION
                    v = move_to(st, i, to)
            else:
                if not may_rotate(st, i):
                    continue
                b, j, k = draw_rotation(st, i)
                if k < 0:
                    continue
                v = rotate(st, i, j, k)
            st.out[EVALUATIONS] += 1
            after = crowding(st) if v > 0 else 0.0
            feasible = v > 0 and current > 0
            gain = crowd - after if feasible else (v - current) / max(abs(current), 1e-300)
            if gain >= 0 or uniform(st) < math.exp(gain / t):
                current = v
                crowd = after
                if greater(v, best):
                    best = v
                    save(st)
                    if best >= goal:
                        return best
            elif move == ROTATION:
                rotate_back(st, i, j, k, b)
            elif move == SWAP:
                _exchange_back(st, i, j)
            else:
                take_back(st, i, old)
    return best
