"""The configurations that reactive tabu search has visited: hashes, the oldest forgotten."""

from __future__ import annotations

from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.moves import configuration

PROBES = 64
"""Places that a hash may have, one after the other."""


@jit
def slot(st: State, h: int) -> int:
    """Where the table of visited configurations has hash h, or where it would go; entries are
    (hash, last iteration, repetitions). Among PROBES taken places it goes to the one seen longest ago."""
    n = st.visited_size // 3
    k = h % n
    oldest = k
    for _ in range(PROBES):
        if st.visited[3 * k] == 0 or st.visited[3 * k] == h:
            return 3 * k
        if st.visited[3 * k + 1] < st.visited[3 * oldest + 1]:
            oldest = k
        k = (k + 1) % n
    return 3 * oldest


@jit
def recent(st: State, iteration: int, length: float) -> bool:
    """Whether the present configuration was visited in the last `length` iterations."""
    h = configuration(st) | 1
    k = slot(st, h)
    return st.visited[k] == h and iteration - st.visited[k + 1] <= length
