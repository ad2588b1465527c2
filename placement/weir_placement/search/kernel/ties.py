"""Among plans of equal headroom: less network usage, fewer fragments, fewer moves (model.md section 3)."""

from __future__ import annotations

from weir_placement.search.kernel.evaluator import INFINITE, ends_fragment, first_reader, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SINK, SOURCE
from weir_placement.search.kernel.local import EQUAL
from weir_placement.search.kernel.moves import may_rotate, move_to, rotate, rotate_back, save, side, take_back

EFFORT = 4_000_000
"""Nodes looked at while ties are broken."""


@jit
def network_usage(st: State) -> float:
    """Bytes in transit at x = 1, mean over the points."""
    m, degree = st.items, st.degree
    total = 0.0
    for s in range(st.scenarios):
        # the piece of its point that holds at x = 1
        if st.until_[s] <= 1.0 or (s > 0 and st.point[s] == st.point[s - 1] and st.until_[s - 1] > 1.0):
            continue
        for i in range(m):
            if st.node[i] < 0 or st.kind[i] == SINK:
                continue
            rate = 0.0
            for d in range(st.low[i], st.high[i] + 1):
                rate += st.rate_[(s * m + i) * degree + d]
            for u in range(st.readers[i]):
                r = st.reader[i * st.uses + u]
                to = st.node[r]
                if to < 0 or to == st.node[i]:
                    continue
                again = False
                for v in range(u):
                    again = again or st.node[st.reader[i * st.uses + v]] == to
                if not again and first_reader(st, i, to) == r * m + i:
                    total += rate * st.width_[i] * st.latency_[st.node[i] * st.nodes + to]
    return total / st.points


@jit
def rest_of_key(st: State) -> None:
    """Network usage, fragments and moves of the present configuration, into result[0..2]."""
    st.result_[0] = network_usage(st)
    fragments = 0.0
    moves = 0.0
    for i in range(st.items):
        if st.kind[i] == SOURCE or st.kind[i] == SINK:
            continue
        if ends_fragment(st, i):
            fragments += 1.0
        if st.node[i] != st.force[i]:
            moves += 1.0
    st.result_[1] = fragments
    st.result_[2] = moves


@jit
def _less(st: State) -> bool:
    """Whether result[0..2] come before result[3..5]."""
    usage, least = st.result_[0], st.result_[3]
    if abs(usage - least) > EQUAL * max(least, usage):
        return bool(usage < least)
    if st.result_[1] != st.result_[4]:
        return bool(st.result_[1] < st.result_[4])
    return bool(st.result_[2] < st.result_[5])


@jit
def _improves(st: State, v: float, best: float) -> bool:
    """Whether the present configuration, of value v, is better than the best; then its key is the best."""
    if v < best - EQUAL * abs(best):
        return False
    rest_of_key(st)
    if v <= best + EQUAL * abs(best) and not _less(st):
        return False
    for k in range(3):
        st.result_[3 + k] = st.result_[k]
    return True


@jit
def polish(st: State, rounds: int) -> float:
    """Climbs by first improvement in the lexicographic order from the present configuration; saved.

    At most EFFORT / nodes evaluations, each of which looks at all nodes.
    """
    until = st.out[0] + EFFORT // st.nodes
    best = rebuild(st)
    _improves(st, best, -INFINITE)
    for _ in range(rounds):
        improved = False
        for i in range(st.items):
            if st.out[0] > until:
                break
            for a in range(st.choice_first[i], st.choice_first[i + 1]):
                old, to = st.node[i], st.choice[a]
                if to == old:
                    continue
                v = move_to(st, i, to)
                st.out[0] += 1
                if _improves(st, v, best):
                    best = v
                    improved = True
                else:
                    take_back(st, i, old)
            if not may_rotate(st, i):
                continue
            for j in range(st.first[i + 1] - st.first[i]):
                k = side(st, i, j)
                if k < 0:
                    continue
                b = st.child[st.first[i] + j]
                v = rotate(st, i, j, k)
                st.out[0] += 1
                if _improves(st, v, best):
                    best = v
                    improved = True
                else:
                    rotate_back(st, i, j, k, b)
        if not improved or st.out[0] > until:
            break
    save(st)
    return best
