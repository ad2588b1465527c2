"""Fewer hosts at a headroom that is enough: queries and parts of them change nodes, and hosts are emptied.

Single moves lead from one such plan to another only where each of them keeps the headroom and opens no host
for a while: a fragment of several operators has to move at once, a host of several fragments too.
"""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS, LISTED
from weir_placement.search.kernel.evaluator import INFINITE, place, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SINK, SOURCE
from weir_placement.search.kernel.moves import begin, finish, restore_roots, save, touch, touch_around
from weir_placement.search.kernel.neighbourhood import EQUAL
from weir_placement.search.kernel.settle import may_run
from weir_placement.search.kernel.ties import (
    FRAGMENTS,
    HOSTS,
    MANY,
    MOVES,
    USAGE,
    improves,
    lower,
    note,
    part,
    recount,
    rest_of_key,
    uncount,
)

TRIES = 8
"""Nodes that are tried for a part of a host: those with the least network usage."""
FULL = 1.0 + 1e-6
"""A node whose own headroom is below so many times what is enough has no room."""


@jit
def _begins(st: State, q: int) -> int:
    """The first item of query q; the last one is its sink."""
    return st.sink[q - 1] + 1 if q > 0 else 0


@jit
def _belongs(st: State, i: int, n: int, only: int) -> bool:
    """Whether item i is of the part: operator `only`, or (-1) every operator on node n, or on any (-1)."""
    if st.kind[i] == SOURCE or st.kind[i] == SINK:
        return False
    if only >= 0:
        return bool(i == only)
    return bool(n < 0 or st.node[i] == n)


@jit
def _carry(st: State, q: int, n: int, only: int, to: int) -> bool:
    """The part goes to node `to`, lists and key alone; false, with nothing moved, if it may not run there."""
    moved = False
    for i in range(_begins(st, q), st.sink[q]):
        st.kept_node[i] = st.node[i]
        if _belongs(st, i, n, only):
            if not may_run(st, i, to):
                return False
            moved = moved or st.node[i] != to
    if not moved:
        return False
    st.out[LISTED] = 0
    for i in range(_begins(st, q), st.sink[q]):
        if _belongs(st, i, n, only):
            note(st, i)
            for slot in range(st.first[i], st.first[i + 1]):
                note(st, st.child[slot])
    part(st, -1.0)
    for i in range(_begins(st, q), st.sink[q]):
        if _belongs(st, i, n, only):
            place(st, i, to)
    part(st, 1.0)
    return True


@jit
def _take_back(st: State, q: int, hosts: float, usage: float, fragments: float, moves: float) -> None:
    """Undoes the last `_carry`."""
    uncount(st)
    for i in range(_begins(st, q), st.sink[q]):
        if st.node[i] != st.kept_node[i]:
            place(st, i, st.kept_node[i])
    recount(st, hosts, usage, fragments, moves)


@jit
def _revalued(st: State, q: int) -> float:
    """The value after `_carry`; `restore_roots` takes the roots back."""
    begin(st)
    for i in range(_begins(st, q), st.sink[q]):
        if st.node[i] != st.kept_node[i]:
            touch(st, st.kept_node[i])
            touch_around(st, i)
    st.out[EVALUATIONS] += 1
    return finish(st)


@jit
def _gather(st: State, q: int, n: int, to: int, best: float) -> float:
    """All operators of query q on node n (-1: on any) go to node `to` if the key gets better by it: the value
    then, else -INFINITE with nothing moved."""
    hosts, usage, fragments, moves = st.key_[HOSTS], st.key_[USAGE], st.key_[FRAGMENTS], st.key_[MOVES]
    if not _carry(st, q, n, -1, to):
        return -INFINITE
    if lower(st, hosts, usage, fragments, moves):
        v = _revalued(st, q)
        if improves(st, v, best, hosts, usage, fragments, moves):
            return v
        restore_roots(st)
    _take_back(st, q, hosts, usage, fragments, moves)
    return -INFINITE


@jit
def _hand_on(st: State, q: int, n: int, only: int, least: float) -> bool:
    """The part of query q on node n goes to another open host of its class, with as little network usage as
    may be; false if none of those tried has room."""
    shared = st.sharing[only if only >= 0 else st.sink[q] - 1]
    hosts, usage, fragments, moves = st.key_[HOSTS], st.key_[USAGE], st.key_[FRAGMENTS], st.key_[MOVES]
    for to in range(st.nodes):
        st.target_[to] = INFINITE
        if to == n or st.opened[shared * st.nodes + to] == 0 or st.root_[to] < least * FULL:
            continue
        if _carry(st, q, n, only, to):
            st.target_[to] = st.key_[USAGE]
            _take_back(st, q, hosts, usage, fragments, moves)
    for _ in range(TRIES):
        to = 0
        for other in range(1, st.nodes):
            if st.target_[other] < st.target_[to]:
                to = other
        if st.target_[to] >= INFINITE or over(st):
            return False
        st.target_[to] = INFINITE
        _carry(st, q, n, only, to)
        if _revalued(st, q) >= least:
            return True
        restore_roots(st)
        _take_back(st, q, hosts, usage, fragments, moves)
    return False


@jit
def _empty(st: State, shared: int, n: int, least: float) -> bool:
    """Every operator of a class leaves node n; false as soon as one finds no room."""
    while True:
        i = st.head[n]
        while i >= 0 and st.sharing[i] != shared:
            i = st.following[i]
        if i < 0:
            return True
        if not _hand_on(st, st.query[i], n, -1, least) and not _hand_on(st, st.query[i], n, i, least):
            return False


@jit
def _close(st: State, shared: int, least: float) -> bool:
    """Empties hosts of a class, those with the fewest operators first; whether one was closed."""
    count, closed = 0, False
    for n in range(st.nodes):
        operators = st.opened[shared * st.nodes + n]
        if operators > 0:
            at = count
            while at > 0 and st.opened[shared * st.nodes + st.tried[at - 1]] > operators:
                st.tried[at] = st.tried[at - 1]
                at -= 1
            st.tried[at] = n
            count += 1
    for k in range(count):
        if over(st):
            break
        save(st)
        if _empty(st, shared, st.tried[k], least):
            closed = True
            continue
        for i in range(st.items):
            if st.node[i] != st.best_node[i]:
                place(st, i, st.best_node[i])
        rebuild(st)
        rest_of_key(st)
    return closed


@jit
def _tried(st: State, q: int, to: int) -> bool:
    """Whether operators of query q are tried on node `to`."""
    shared = st.sharing[st.sink[q] - 1]
    return bool(st.items <= MANY or shared < 0 or st.opened[shared * st.nodes + to] > 0)


@jit
def _gather_all(st: State, best: float) -> float:
    """Every query and every part of it on each node that makes the key better; the last value, or -INFINITE.
    With many items only nodes that have a host of the class are tried."""
    last = -INFINITE
    for q in range(st.queries):
        for to in range(st.nodes):
            if over(st):
                return last
            if not _tried(st, q, to):
                continue
            v = _gather(st, q, -1, to, best)
            if v > -INFINITE:
                best = last = v
        for i in range(_begins(st, q), st.sink[q]):
            n = st.node[i]
            for to in range(st.nodes):
                if st.kind[i] == SOURCE or over(st) or st.node[i] != n:
                    break
                if not _tried(st, q, to):
                    continue
                v = _gather(st, q, n, to, best)
                if v > -INFINITE:
                    best = last = v
    return last


@jit
def consolidate(st: State, rounds: int) -> float:
    """From the present configuration, whose value must be `enough`, to one with a better key; saved.

    Complexity: a round looks at the key for each operator and node, and at the value where that gets better.
    """
    best = rebuild(st)
    least = st.enough_[0] * (1.0 - EQUAL)
    rest_of_key(st)
    for _ in range(rounds):
        v = _gather_all(st, best)
        improved = v > -INFINITE
        for shared in range(st.classes):
            improved = _close(st, shared, least) or improved
        best = rebuild(st)
        rest_of_key(st)
        if not improved or over(st):
            break
    save(st)
    return best
