"""The cheapest placement of a logical plan that has enough headroom, by branch and bound.

A branch has the hosts, the network usage, the fragments and the moves of what is placed: what is still to be
placed can only add to them. So it is cut where they are no better than a whole plan that is known, or where a
node is full at the headroom that is enough.
"""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS, GAVE_UP, STEPS
from weir_placement.search.kernel.evaluator import INFINITE, node_root, place, value
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.moves import save
from weir_placement.search.kernel.neighbourhood import EQUAL
from weir_placement.search.kernel.ties import FRAGMENTS, HOSTS, MOVES, START, USAGE, add_up_key, lower

KNOWN = 5
"""Where the key to beat begins in `key`; the word behind it is 1 if there is one."""


@jit
def _beats(st: State) -> bool:
    """Whether what is placed has a better key than the best known plan."""
    if st.key_[KNOWN + 4] == 0.0:
        return True
    return bool(
        lower(
            st,
            st.key_[KNOWN + HOSTS],
            st.key_[KNOWN + USAGE],
            st.key_[KNOWN + FRAGMENTS],
            st.key_[KNOWN + MOVES],
        )
    )


@jit
def _alike_tried(st: State, i: int, at: int) -> bool:
    """An untouched node that is like this one was tried before for this item."""
    n = st.choice[at]
    if st.head[n] >= 0:
        return False
    for c in range(st.choice_first[i], at):
        other = st.choice[c]
        if st.alike[other] == st.alike[n] and st.head[other] < 0:
            return True
    return False


@jit
def _carries(st: State, least: float) -> bool:
    """Whether all that is placed leaves each node, and all paths, the headroom."""
    for n in range(st.nodes):
        st.root_[n] = node_root(st, n) if st.head[n] >= 0 else INFINITE
    return bool(value(st) >= least)


@jit
def _line_up(st: State) -> int:
    """Items to be placed into `order`: those with one candidate first, then query by query. Their number."""
    count = 0
    for free in range(2):
        for i in range(st.items):
            candidates = st.choice_last[i] - st.choice_first[i]
            if candidates > 0 and (candidates > 1) == (free == 1):
                st.order[count] = i
                count += 1
    for i in range(st.items):
        place(st, i, -1)
    return count


@jit
def place_cheapest(st: State, budget: int) -> None:
    """The cheapest placement of the present logical plan, if it beats key[KNOWN..]; saved when found.

    out[EVALUATIONS] counts complete placements, out[STEPS] steps; out[GAVE_UP] becomes 1 when the budget or
    the time is used up.
    """
    least = st.enough_[0] * (1.0 - EQUAL)
    count = _line_up(st)
    st.key_[START] = 0.0
    depth = 0
    st.tried[0] = st.choice_first[st.order[0]] if count else 0
    while depth >= 0:
        if depth == count:
            st.out[EVALUATIONS] += 1
            add_up_key(st)
            if _beats(st) and _carries(st, least):
                save(st)
                for k in range(4):
                    st.key_[KNOWN + k] = st.key_[k]
                st.key_[KNOWN + 4] = 1.0
            depth -= 1
            continue
        i = st.order[depth]
        if st.node[i] >= 0:
            place(st, i, -1)
        at = st.tried[depth]
        if at == st.choice_last[i]:
            depth -= 1
            continue
        st.tried[depth] = at + 1
        st.out[STEPS] += 1
        if st.out[STEPS] > budget or over(st):
            st.out[GAVE_UP] = 1
            return
        n = st.choice[at]
        if _alike_tried(st, i, at):
            continue
        place(st, i, n)
        add_up_key(st)
        if not _beats(st) or node_root(st, n) < least:
            continue
        depth += 1
        if depth < count:
            st.tried[depth] = st.choice_first[st.order[depth]]
