"""Local searches over the moves: random, greedy, tabu, reactive tabu, annealing ([1]_, section 5.1).

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
.. [2] Roberto Battiti, Giampietro Tecchiolli, "The Reactive Tabu Search", ORSA Journal on Computing 6, 1994.
"""

from __future__ import annotations

import math

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import (
    ANY,
    BOTH,
    EVALUATIONS,
    LOGICAL,
    MOVE,
    NOT_RECENT,
    NOT_TABU,
    PHYSICAL,
)
from weir_placement.search.kernel.evaluator import INFINITE, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SOURCE
from weir_placement.search.kernel.moves import (
    configuration,
    draw,
    draw_rotation,
    may_rotate,
    move_to,
    rotate,
    rotate_back,
    rotation_from,
    save,
    take_back,
    uniform,
)
from weir_placement.search.kernel.visited import recent, slot

EQUAL = 1e-9


@jit
def greater(a: float, b: float) -> bool:
    """a > b by more than rounding."""
    return a > b + EQUAL * abs(b)


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
def _key(st: State, physical: bool, i: int, x: int) -> int:
    """Index of a move in the tabu table: an item to a node, or a pair that changes places."""
    if physical:
        return i * st.nodes + x
    return st.items * st.nodes + i * st.items + x


@jit
def _admissible(
    st: State,
    key: int,
    v: float,
    chosen: float,
    ties: int,
    iteration: int,
    rule: int,
    best: float,
    length: float,
) -> bool:
    """Whether the present neighbour, of value v, takes the place of the one chosen so far; of equal ones
    each is taken with the same probability."""
    if not (v > chosen or (v == chosen and draw(st, ties + 2) == 0)):
        return False
    if rule == NOT_TABU:
        return st.tabu[key] < iteration or greater(v, best)
    return rule == ANY or not recent(st, iteration, length)


@jit
def _best_neighbour(st: State, iteration: int, rule: int, moves: int, best: float, length: float) -> float:
    """Looks at the whole neighbourhood; the best admissible move goes to out[MOVE] and after.

    -inf if there is none; when the time is over, the best so far.

    `rule`: ANY, NOT_TABU or NOT_RECENT (in the last `length` iterations).
    `moves`: PHYSICAL, LOGICAL or BOTH.
    """
    chosen = -INFINITE
    ties = 0
    for i in range(st.items):
        if moves & PHYSICAL and st.choice_last[i] - st.choice_first[i] > 1:
            old = st.node[i]
            for a in range(st.choice_first[i], st.choice_last[i]):
                to = st.choice[a]
                if to == old:
                    continue
                if over(st):
                    return chosen
                v = move_to(st, i, to)
                st.out[EVALUATIONS] += 1
                key = _key(st, True, i, to)
                ok = _admissible(st, key, v, chosen, ties, iteration, rule, best, length)
                take_back(st, i, old)
                if ok:
                    ties = ties + 1 if v == chosen else 0
                    chosen = v
                    st.out[MOVE], st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3] = 1, i, to, old
        if moves & LOGICAL:
            j, k = rotation_from(st, i, 0)
            while k >= 0:
                if over(st):
                    return chosen
                b = st.child[st.first[i] + j]
                v = rotate(st, i, j, k)
                st.out[EVALUATIONS] += 1
                key = _key(st, False, i, b)
                ok = _admissible(st, key, v, chosen, ties, iteration, rule, best, length)
                rotate_back(st, i, j, k, b)
                if ok:
                    ties = ties + 1 if v == chosen else 0
                    chosen = v
                    st.out[MOVE], st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3] = 2, i, j, k
                j, k = rotation_from(st, i, 2 * j + k + 1)
    return chosen


@jit
def _do(st: State) -> None:
    """The move in out[MOVE] and after."""
    if st.out[MOVE] == 1:
        move_to(st, st.out[MOVE + 1], st.out[MOVE + 2])
    else:
        rotate(st, st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3])


@jit
def climb(st: State, iterations: int, moves: int) -> float:
    """Greedy: the best neighbour until none is better."""
    current = rebuild(st)
    for iteration in range(iterations):
        v = _best_neighbour(st, iteration, ANY, moves, current, 0.0)
        if not greater(v, current):
            break
        _do(st)
        current = v
    save(st)
    return current


@jit
def tabu(st: State, iterations: int, length: int, moves: int, goal: float) -> float:
    """Tabu search: the best move that is not the undoing of one of the last `length`."""
    for k in range(st.items * (st.nodes + st.items)):
        st.tabu[k] = -1
    best = rebuild(st)
    save(st)
    for iteration in range(iterations):
        v = _best_neighbour(st, iteration, NOT_TABU, moves, best, 0.0)
        if v <= -INFINITE:
            break
        if st.out[MOVE] == 1:
            st.tabu[_key(st, True, st.out[MOVE + 1], st.out[MOVE + 3])] = iteration + length
        else:
            b = st.child[st.first[st.out[MOVE + 1]] + st.out[MOVE + 2]]
            st.tabu[_key(st, False, b, st.out[MOVE + 1])] = iteration + length
        _do(st)
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
            v = _best_neighbour(st, iteration, NOT_RECENT, moves, best, length)
            if v <= -INFINITE:
                length = max(1.0, length * less)
                step_random(st, 0.5 if moves == BOTH else (1.0 if moves == PHYSICAL else 0.0))
                v = rebuild(st)
            else:
                _do(st)
        if greater(v, best):
            best = v
            save(st)
            if best >= goal:
                break
    return best
