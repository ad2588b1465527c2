"""The neighbourhood of a configuration: every move of one item, tried in turn, the best one kept."""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import ANY, EVALUATIONS, LOGICAL, MOVE, NOT_TABU, PHYSICAL
from weir_placement.search.kernel.evaluator import INFINITE
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.moves import draw, move_to, rotate, rotate_back, rotation_from, take_back
from weir_placement.search.kernel.visited import recent

EQUAL = 1e-9


@jit
def greater(a: float, b: float) -> bool:
    """a > b by more than rounding."""
    return a > b + EQUAL * abs(b)


@jit
def move_key(st: State, physical: bool, i: int, x: int) -> int:
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
def best_neighbour(st: State, iteration: int, rule: int, moves: int, best: float, length: float) -> float:
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
                key = move_key(st, True, i, to)
                ok = _admissible(st, key, v, chosen, ties, iteration, rule, best, length)
                take_back(st, i, old)
                if ok:
                    ties = ties + 1 if v == chosen else 0
                    chosen = v
                    st.out[MOVE], st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3] = PHYSICAL, i, to, old
        if moves & LOGICAL:
            j, k = rotation_from(st, i, 0)
            while k >= 0:
                if over(st):
                    return chosen
                b = st.child[st.first[i] + j]
                v = rotate(st, i, j, k)
                st.out[EVALUATIONS] += 1
                key = move_key(st, False, i, b)
                ok = _admissible(st, key, v, chosen, ties, iteration, rule, best, length)
                rotate_back(st, i, j, k, b)
                if ok:
                    ties = ties + 1 if v == chosen else 0
                    chosen = v
                    st.out[MOVE], st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3] = LOGICAL, i, j, k
                j, k = rotation_from(st, i, 2 * j + k + 1)
    return chosen


@jit
def do_move(st: State) -> None:
    """The move in out[MOVE] and after."""
    if st.out[MOVE] == PHYSICAL:
        move_to(st, st.out[MOVE + 1], st.out[MOVE + 2])
    else:
        rotate(st, st.out[MOVE + 1], st.out[MOVE + 2], st.out[MOVE + 3])
