"""Among plans of equal headroom: less network usage, fewer fragments, fewer moves (model.md section 3)."""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS, LATE, LISTED
from weir_placement.search.kernel.evaluator import INFINITE, place, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SINK, SOURCE
from weir_placement.search.kernel.moves import (
    move_to,
    rotate,
    rotate_back,
    rotation_from,
    save,
    take_back,
    turn,
)
from weir_placement.search.kernel.neighbourhood import EQUAL
from weir_placement.search.kernel.node_loads import ends_fragment, first_reader

EFFORT = 8_000_000
"""Nodes and items looked at while ties are broken."""
MANY = 300
"""Items from which on the value of a plan is looked at only if the rest of its key is better: that is known
from a few items, the value from all of two nodes."""
NEAR_ONLY = 64
"""Nodes from which on an operator is tried only where its inputs come from and its readers are: that is what
makes a flow or a fragment less (a third node that lies between them is left out)."""


@jit
def _usage_of(st: State, i: int) -> float:
    """Bytes in transit at x = 1 that leave item i, summed over the points."""
    if st.node[i] < 0 or st.kind[i] == SINK:
        return 0.0
    m, degree = st.items, st.degree
    seconds = 0.0
    for u in range(st.readers[i]):
        r = st.reader[i * st.uses + u]
        to = st.node[r]
        if to < 0 or to == st.node[i]:
            continue
        again = False
        for v in range(u):
            again = again or st.node[st.reader[i * st.uses + v]] == to
        if not again and first_reader(st, i, to) == r * m + i:
            seconds += st.latency_[st.node[i] * st.nodes + to]
    if seconds == 0.0:
        return 0.0
    rate = 0.0
    for s in range(st.scenarios):
        # the piece of its point that holds at x = 1
        if st.until_[s] <= 1.0 or (s > 0 and st.point[s] == st.point[s - 1] and st.until_[s - 1] > 1.0):
            continue
        for d in range(st.low[i], st.high[i] + 1):
            rate += st.rate_[(s * m + i) * degree + d]
    return rate * st.width_[i] * seconds


@jit
def _add_key(st: State, i: int, sign: float) -> None:
    """Item i's part of the rest of the key, to result[0..2]."""
    st.result_[0] += sign * _usage_of(st, i) / st.points
    if st.kind[i] != SOURCE and st.kind[i] != SINK:
        if ends_fragment(st, i):
            st.result_[1] += sign
        if st.node[i] != st.force[i]:
            st.result_[2] += sign


@jit
def rest_of_key(st: State) -> None:
    """Network usage (mean over the points), fragments and moves of the configuration, into result[0..2]."""
    for k in range(3):
        st.result_[k] = 0.0
    for i in range(st.items):
        _add_key(st, i, 1.0)


@jit
def _note(st: State, i: int) -> None:
    """Item i's stream is one whose flows a move may change; `order` lists them, its number is out[LISTED]."""
    g = st.group[i]
    for k in range(st.out[LISTED]):
        if st.order[k] == g:
            return
    st.order[st.out[LISTED]] = g
    st.out[LISTED] += 1


@jit
def _around(st: State, i: int, b: int) -> None:
    """Lists the streams that leave items i and b (-1: none) and that they read."""
    st.out[LISTED] = 0
    _note(st, i)
    for slot in range(st.first[i], st.first[i + 1]):
        _note(st, st.child[slot])
    if b >= 0:
        for slot in range(st.first[b], st.first[b + 1]):
            _note(st, st.child[slot])


@jit
def _part(st: State, sign: float) -> None:
    """Adds to the key, or takes from it, what the listed streams and their items are of it."""
    for k in range(st.out[LISTED]):
        g = st.order[k]
        for e in range(st.group_first[g], st.group_first[g + 1]):
            _add_key(st, st.group_item[e], sign)


@jit
def _improves(st: State, v: float, best: float, usage: float, fragments: float, moves: float) -> bool:
    """Whether result[0..2] at value v comes before the other key; result[3] is the usage at the start, of
    which sums that go up and down keep some rounding."""
    if v < best - EQUAL * abs(best):
        return False
    if v > best + EQUAL * abs(best):
        return True
    if abs(st.result_[0] - usage) > EQUAL * max(usage, max(st.result_[0], st.result_[3])):
        return bool(st.result_[0] < usage)
    if st.result_[1] != fragments:
        return bool(st.result_[1] < fragments)
    return bool(st.result_[2] < moves)


@jit
def _useful(st: State, i: int, to: int) -> bool:
    """Whether something that item i reads, or that reads it, is on node `to`."""
    if st.nodes <= NEAR_ONLY:
        return True
    for slot in range(st.first[i], st.first[i + 1]):
        if st.node[st.child[slot]] == to:
            return True
    for u in range(st.readers[i]):
        if st.node[st.reader[i * st.uses + u]] == to:
            return True
    return False


@jit
def _try(st: State, i: int, j: int, k: int, to: int) -> float:
    """The move of item i to node `to` or, with k >= 0, the rotation of `moves.rotate`; the key goes along.
    The value, or -INFINITE when nothing was moved because the rest of the key gets no better."""
    b = st.child[st.first[i] + j] if k >= 0 else -1
    _around(st, i, b)
    if st.items > MANY:
        old = st.node[i]
        usage, fragments, moves = st.result_[0], st.result_[1], st.result_[2]
        _part(st, -1.0)
        if k >= 0:
            turn(st, i, j, k)
        else:
            place(st, i, to)
        _part(st, 1.0)
        better = _improves(st, 1.0, 1.0, usage, fragments, moves)
        if k >= 0:
            turn(st, b, k, j)
        else:
            place(st, i, old)
        st.result_[0], st.result_[1], st.result_[2] = usage, fragments, moves
        if not better:
            return -INFINITE
    _part(st, -1.0)
    v = rotate(st, i, j, k) if k >= 0 else move_to(st, i, to)
    _part(st, 1.0)
    st.out[EVALUATIONS] += 1
    return v


@jit
def _gain(st: State, i: int, j: int, k: int, to: int, best: float) -> float:
    """The value after the move of `_try` if the key gets better by it; else -INFINITE, with nothing moved."""
    b = st.child[st.first[i] + j] if k >= 0 else -1
    old = st.node[i]
    usage, fragments, moves = st.result_[0], st.result_[1], st.result_[2]
    v = _try(st, i, j, k, to)
    if v <= -INFINITE or _improves(st, v, best, usage, fragments, moves):
        return v
    if k >= 0:
        rotate_back(st, i, j, k, b)
    else:
        take_back(st, i, old)
    st.result_[0], st.result_[1], st.result_[2] = usage, fragments, moves
    return -INFINITE


@jit
def polish(st: State, rounds: int) -> float:
    """Climbs by first improvement in the lexicographic order from the present configuration; saved.

    At most EFFORT / (nodes + items on two nodes) evaluations.
    """
    until = st.out[EVALUATIONS] + EFFORT // (st.nodes + 2 * st.items // st.nodes)
    best = rebuild(st)
    rest_of_key(st)
    st.result_[3] = st.result_[0]
    for _ in range(rounds):
        improved = False
        for i in range(st.items):
            if st.out[EVALUATIONS] > until or over(st):
                break
            for a in range(st.choice_first[i], st.choice_last[i]):
                to = st.choice[a]
                if to == st.node[i] or not _useful(st, i, to):
                    continue
                v = _gain(st, i, 0, -1, to, best)
                if v > -INFINITE:
                    best, improved = v, True
            j, k = rotation_from(st, i, 0)
            while k >= 0:
                v = _gain(st, i, j, k, -1, best)
                if v > -INFINITE:
                    best, improved = v, True
                j, k = rotation_from(st, i, 2 * j + k + 1)
        if not improved or st.out[EVALUATIONS] > until or st.out[LATE]:
            break
    save(st)
    return best
