"""Tabu search and reactive tabu search ([1]_, sections 5.1.2 and 5.1.3; [2]_).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
.. [2] Roberto Battiti, Giampietro Tecchiolli, "The Reactive Tabu Search", ORSA Journal on Computing 6, 1994.
"""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import BOTH, MOVE, NOT_RECENT, NOT_TABU, PHYSICAL
from weir_placement.search.kernel.evaluator import INFINITE, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.local import step_random
from weir_placement.search.kernel.moves import configuration, save, uniform
from weir_placement.search.kernel.neighbourhood import best_neighbour, do_move, greater, move_key
from weir_placement.search.kernel.visited import slot


@jit
def tabu(st: State, iterations: int, length: int, moves: int, goal: float) -> float:
    """Tabu search: the best move that is not the undoing of one of the last `length`."""
    for k in range(st.items * (st.nodes + st.items)):
        st.tabu[k] = -1
    best = rebuild(st)
    save(st)
    for iteration in range(iterations):
        v = best_neighbour(st, iteration, NOT_TABU, moves, best, 0.0)
        if v <= -INFINITE:
            break
        if st.out[MOVE] == PHYSICAL:
            st.tabu[move_key(st, True, st.out[MOVE + 1], st.out[MOVE + 3])] = iteration + length
        else:
            b = st.child[st.first[st.out[MOVE + 1]] + st.out[MOVE + 2]]
            st.tabu[move_key(st, False, b, st.out[MOVE + 1])] = iteration + length
        do_move(st)
        if greater(v, best):
            best = v
            save(st)
            if best >= goal:
                break
    return best


@jit
def reactive_tabu(
    st: State, iterations: int, cycle: int, moves: int, length: float, more: float, less: float, goal: float
) -> float:
    """Reactive tabu search ([1]_, section 5.1.3; [2]_).

    Configurations, not moves, are tabu. The list grows by `more` at each repetition of a configuration
    (of cycles up to `cycle` long), shrinks by `less` when it has not changed for longer than the moving
    average of cycles, and also when every move is tabu. Too many repetitions start an escape: a random
    walk whose length follows that average.
    """
    for k in range(st.visited_size):
        st.visited[k] = 0
    best = rebuild(st)
    save(st)
    average = 0.0
    changed = 0
    often = 0
    for iteration in range(iterations):
        if over(st):
            break
        h = configuration(st) | 1
        k = slot(st, h)
        if st.visited[k] == h:
            gap = iteration - st.visited[k + 1]
            st.visited[k + 1] = iteration
            st.visited[k + 2] += 1
            if st.visited[k + 2] > 3:
                often += 1
            if gap <= cycle:
                average = 0.1 * gap + 0.9 * average
                length = length * more + 1.0
                changed = iteration
        else:
            st.visited[k] = h
            st.visited[k + 1] = iteration
            st.visited[k + 2] = 1
        if iteration - changed > average:
            length = max(1.0, length * less)
            changed = iteration
        if often > 3:
            often = 0
            for _ in range(1 + int((1.0 + uniform(st)) * max(average, 1.0))):
                step_random(st, 0.5 if moves == BOTH else (1.0 if moves == PHYSICAL else 0.0))
            v = rebuild(st)
        else:
            v = best_neighbour(st, iteration, NOT_RECENT, moves, best, length)
            if v <= -INFINITE:
                length = max(1.0, length * less)
                step_random(st, 0.5 if moves == BOTH else (1.0 if moves == PHYSICAL else 0.0))
                v = rebuild(st)
            else:
                do_move(st)
        if greater(v, best):
            best = v
            save(st)
            if best >= goal:
                break
    return best
