"""A start for large problems: less work first, then the largest operators to the emptiest nodes.

The logical plan descends by swaps that lower the load of the two operators they touch (nothing else changes
at one x). Then operators are placed in order of falling load, each on the node that it fills least.
"""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.crowd import fill
from weir_placement.search.kernel.entry_codes import EVALUATIONS
from weir_placement.search.kernel.evaluator import INFINITE, rebuild
from weir_placement.search.kernel.fixed import exactly, measure_all, turn_at
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SINK, SOURCE
from weir_placement.search.kernel.moves import rotation_from, save
from weir_placement.search.kernel.neighbourhood import greater

PASSES = 40
"""Of the descent, each over all operators."""


@jit
def pack(st: State, rounds: int) -> float:
    """Each round at the headroom of the one before: the best value, whose configuration is saved.

    Complexity: items times nodes in a round.
    """
    best = rebuild(st)
    save(st)
    x = best if 0 < best < INFINITE else 1.0
    for _ in range(rounds):
        measure_all(st, x)
        _descend(st, x)
        _distribute(st)
        v = rebuild(st)
        st.out[EVALUATIONS] += 1
        if greater(v, best):
            best = v
            save(st)
        if not 0 < v < INFINITE or over(st):
            break
        x = v
    return exactly(st)


@jit
def _load(st: State, i: int) -> float:
    """CPU of item i, the largest of the points."""
    load = 0.0
    for p in range(st.points):
        load = max(load, st.need_[2 * (i * st.points + p)])
    return load


@jit
def _descend(st: State, x: float) -> None:
    for _ in range(PASSES):
        lower = False
        for t in range(st.items):
            if over(st):
                return
            j, k = rotation_from(st, t, 0)
            while k >= 0:
                b = st.child[st.first[t] + j]
                before = _load(st, t) + _load(st, b)
                turn_at(st, t, j, k, x)
                if _load(st, t) + _load(st, b) < before * (1 - 1e-9):
                    lower = True
                    break
                turn_at(st, b, k, j, x)
                j, k = rotation_from(st, t, 2 * j + k + 1)
        if not lower:
            return


@jit
def _sort(st: State, count: int) -> None:
    """`order` by falling load: Shell's sort."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, count):
            i = st.order[a]
            load = _load(st, i)
            b = a
            while b >= gap and _load(st, st.order[b - gap]) < load:
                st.order[b] = st.order[b - gap]
                b -= gap
            st.order[b] = i
        gap //= 3


@jit
def _distribute(st: State) -> None:
    count, width = 0, 2 * st.points
    for i in range(st.items):
        if st.kind[i] != SOURCE and st.kind[i] != SINK:
            st.order[count] = i
            count += 1
    _sort(st, count)
    for k in range(st.nodes * width):
        st.left_[k] = 0.0
    for a in range(count):
        i = st.order[a]
        chosen, least = -1, INFINITE
        for c in range(st.choice_first[i], st.choice_last[i]):
            n = st.choice[c]
            full = 0.0
            for p in range(st.points):
                k = n * width + 2 * p
                full = max(full, (st.left_[k] + st.need_[i * width + 2 * p]) / st.cpu_[n])
                full = max(full, (st.left_[k + 1] + st.need_[i * width + 2 * p + 1]) / st.memory_of_[n])
            if full < least:
                chosen, least = n, full
        if chosen < 0:
            chosen = st.choice[st.choice_first[i]]
        st.node[i] = chosen
        for r in range(width):
            st.left_[chosen * width + r] += st.need_[i * width + r]
    for n in range(st.nodes):
        fill(st, n)
