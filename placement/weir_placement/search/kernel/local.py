"""Random steps, greedy search and simulated annealing over the moves ([1]_, section 5.1).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

import math

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import ANY, EVALUATIONS
from weir_placement.search.kernel.evaluator import rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SOURCE
from weir_placement.search.kernel.moves import (
    draw,
    draw_rotation,
    may_rotate,
    move_to,
    rotate,
    rotate_back,
    save,
    take_back,
    uniform,
)
from weir_placement.search.kernel.neighbourhood import best_neighbour, do_move, greater


@jit
def scatter(st: State) -> None:
    """A random candidate node for every item; call `rebuild` after it."""
    for i in range(st.items):
        n = st.choice_last[i] - st.choice_first[i]
        if n > 0:
            st.node[i] = st.choice[st.choice_first[i] + draw(st, n)]


@jit
def step_random(st: State, alpha: float) -> None:
    """One random move, physical with probability alpha; kept whatever it gives."""
    for _ in range(50):
        i = draw(st, st.items)
        if uniform(st) < alpha:
            n = st.choice_last[i] - st.choice_first[i]
            if n > 1:
                to = st.choice[st.choice_first[i] + draw(st, n)]
                if to != st.node[i]:
                    move_to(st, i, to)
                    return
        elif st.kind[i] != SOURCE:
            _, j, k = draw_rotation(st, i)
            if k >= 0:
                rotate(st, i, j, k)
                return


@jit
def anneal(
    st: State, temperatures: int, iterations: int, alpha: float, hot: float, cold: float, goal: float
) -> float:
    """Simulated annealing from the present configuration; the best value, whose configuration is saved.

    A worse configuration is accepted with probability exp(d / T), d the relative change of the value;
    T falls geometrically from `hot` to `cold`. It stops early at `goal`, which no plan can exceed.
    Counts its evaluations in out[EVALUATIONS].
    """
    current = rebuild(st)
    best = current
    save(st)
    for level in range(temperatures):
        share = level / (temperatures - 1.0) if temperatures > 1 else 0.0
        t = hot * (cold / hot) ** share
        for _ in range(iterations):
            if over(st):
                return best
            i = draw(st, st.items)
            physical = uniform(st) < alpha
            b = j = k = old = -1
            if physical:
                n = st.choice_last[i] - st.choice_first[i]
                if n < 2:
                    continue
                old = st.node[i]
                to = st.choice[st.choice_first[i] + draw(st, n)]
                if to == old:
                    continue
                v = move_to(st, i, to)
            else:
                if not may_rotate(st, i):
                    continue
                b, j, k = draw_rotation(st, i)
                if k < 0:
                    continue
                v = rotate(st, i, j, k)
            st.out[EVALUATIONS] += 1
            d = (v - current) / max(abs(current), 1e-300)
            if v >= current or uniform(st) < math.exp(d / t):
                current = v
                if greater(v, best):
                    best = v
                    save(st)
                    if best >= goal:
                        return best
            elif physical:
                take_back(st, i, old)
            else:
                rotate_back(st, i, j, k, b)
    return best


@jit
def climb(st: State, iterations: int, moves: int) -> float:
    """Greedy: the best neighbour until none is better."""
    current = rebuild(st)
    for iteration in range(iterations):
        v = best_neighbour(st, iteration, ANY, moves, current, 0.0)
        if not greater(v, current):
            break
        do_move(st)
        current = v
    save(st)
    return current
