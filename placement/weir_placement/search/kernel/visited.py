"""The configurations that reactive tabu search has visited: a table of hashes."""

from __future__ import annotations

from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.moves import configuration


@jit
def slot(st: State, h: int) -> int:
    """Where the table of visited configurations has hash h, or where it would go; entries are
    (hash, last iteration, repetitions)."""
    n = st.visited_size // 3
    k = h % n
    while st.visited[3 * k] != 0 and st.visited[3 * k] != h:
        k = (k + 1) % n
    return 3 * k


@jit
def recent(st: State, iteration: int, length: float) -> bool:
    """Whether the present configuration was visited in the last `length` iterations."""
    h = configuration(st) | 1
    k = slot(st, h)
    return st.visited[k] == h and iteration - st.visited[k + 1] <= length
