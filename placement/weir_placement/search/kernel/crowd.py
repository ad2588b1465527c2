"""How full the nodes are at one x: each one's fullest resource, the largest of them, and a power mean.

With many nodes the largest and the sum are kept in trees over the nodes, so that a move costs the logarithm
of their number. Sums are rebuilt on the way up: nothing is subtracted, so nothing drifts.
"""

from __future__ import annotations

from weir_placement.search.kernel.evaluator import INFINITE
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.settle import DOUBLINGS

WIDE = 64
"""Nodes from which on there are trees."""


@jit
def fill(st: State, n: int) -> None:
    """The fullest resource of node n, and its power, from `left` (loads)."""
    width = 2 * st.points
    full = 0.0
    for p in range(st.points):
        if st.cpu_[n] < INFINITE:
            full = max(full, st.left_[n * width + 2 * p] / st.cpu_[n])
        if st.memory_of_[n] < INFINITE:
            full = max(full, st.left_[n * width + 2 * p + 1] / st.memory_of_[n])
    k = st.nodes + n
    st.full_[k] = full
    for _ in range(DOUBLINGS):
        full *= full
    st.crowd_[k] = full
    if st.nodes > WIDE:
        k >>= 1
        while k > 0:
            _from_below(st, k)
            k >>= 1


@jit
def _from_below(st: State, k: int) -> None:
    st.full_[k] = max(st.full_[2 * k], st.full_[2 * k + 1])
    st.crowd_[k] = st.crowd_[2 * k] + st.crowd_[2 * k + 1]


@jit
def crowd(st: State) -> float:
    """The sum of the powers."""
    if st.nodes > WIDE:
        return st.crowd_[1]
    total = 0.0
    for k in range(st.nodes, 2 * st.nodes):
        total += st.crowd_[k]
    return total


@jit
def fullest(st: State) -> float:
    """The largest fullness."""
    if st.nodes > WIDE:
        return st.full_[1]
    full = 0.0
    for k in range(st.nodes, 2 * st.nodes):
        full = max(full, st.full_[k])
    return full
