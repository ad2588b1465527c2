"""One-step moves ([1]_, section 5.3): an operator to another node, or an operator with its child.

Every logical move is one rotation: the child's child takes the operator's place, the operator goes
below its child. It is its own inverse, with the two operators' roles exchanged.

References
----------
.. [1] Ioana Stanoi, George A. Mihaila, Themis Palpanas, Christian A. Lang, "WhiteWater: Distributed
       Processing of Fast Streams", 2007.
"""

from __future__ import annotations

import numpy as np

from weir_placement.search.kernel.blocks import meet, name
from weir_placement.search.kernel.evaluator import node_root, place, value
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import FILTER, JOIN, NETWORK, OVERHEAD, PROJECT, SOURCE
from weir_placement.search.kernel.rates import derive


@jit
def draw(st: State, n: int) -> int:
    """A number of 0 .. n - 1 (splitmix64)."""
    z = np.uint64(st.random[0]) + np.uint64(0x9E3779B97F4A7C15)
    st.random[0] = np.int64(z)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(((z >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@jit
def uniform(st: State) -> float:
    """A number of [0, 1)."""
    return draw(st, 1 << 30) / float(1 << 30)


@jit
def begin(st: State) -> None:
    """Starts a move: no node is touched yet."""
    st.touched[0] = 0


@jit
def touch(st: State, n: int) -> None:
    """Node n changes: remember its root."""
    if n < 0:
        return
    k = st.touched[0]
    for j in range(k):
        if st.touched[1 + j] == n:
            return
    st.touched[1 + k] = n
    st.old_root_[k] = st.root_[n]
    st.touched[0] = k + 1


@jit
def touch_around(st: State, i: int) -> None:
    """The nodes of item i, of what it reads and of what reads it (these only if flows cost anything)."""
    touch(st, st.node[i])
    if st.flags & (NETWORK | OVERHEAD):
        for slot in range(st.first[i], st.first[i + 1]):
            touch(st, st.node[st.child[slot]])
        for u in range(st.readers[i]):
            touch(st, st.node[st.reader[i * st.uses + u]])


@jit
def finish(st: State) -> float:
    """Recomputes the touched nodes; the value of the configuration."""
    for j in range(st.touched[0]):
        n = st.touched[1 + j]
        st.root_[n] = node_root(st, n)
    return value(st)


@jit
def restore_roots(st: State) -> None:
    """Takes a move's touched roots back."""
    for j in range(st.touched[0]):
        st.root_[st.touched[1 + j]] = st.old_root_[j]


@jit
def move_to(st: State, i: int, n: int) -> float:
    """A physical move; the new value."""
    begin(st)
    touch_around(st, i)
    touch(st, n)
    place(st, i, n)
    return finish(st)


@jit
def take_back(st: State, i: int, n: int) -> None:
    """Undoes the last `move_to`: item i was on node n."""
    place(st, i, n)
    restore_roots(st)


@jit
def _replace_reader(st: State, c: int, old: int, new: int) -> None:
    for u in range(st.readers[c]):
        if st.reader[c * st.uses + u] == old:
            st.reader[c * st.uses + u] = new
            return


@jit
def relink(st: State, t: int, j: int, k: int) -> None:
    """The rotation: b, child j of t, rises above t; c, child k of b, becomes t's child j. Links only."""
    at = st.first[t] + j
    b = st.child[at]
    below = st.first[b] + k
    c = st.child[below]
    p = st.reader[t * st.uses]
    for slot in range(st.first[p], st.first[p + 1]):
        if st.child[slot] == t:
            st.child[slot] = b
    st.child[at] = c
    st.child[below] = t
    st.reader[b * st.uses] = p
    st.reader[t * st.uses] = b
    _replace_reader(st, c, b, t)


@jit
def turn(st: State, t: int, j: int, k: int) -> None:
    """The rotation with rates and masks; not the roots."""
    b = st.child[st.first[t] + j]
    relink(st, t, j, k)
    derive(st, t)
    derive(st, b)


@jit
def descends(st: State, t: int, j: int, k: int) -> bool:
    """Whether the operator t may go below its child j, onto that one's child k (`rewrite.rules`)."""
    b = st.child[st.first[t] + j]
    if not (st.free[t] and st.free[b]) or st.query[t] != st.query[b]:
        return False
    top, bottom = st.kind[t], st.kind[b]
    if bottom == JOIN and top in (FILTER, JOIN):
        below = st.set[st.child[st.first[b] + k]]
        if top == JOIN and st.block[t] >= 0:
            third = st.set[st.child[st.first[t] + 1 - j]]
            stays = st.set[st.child[st.first[b] + 1 - k]]
            return meet(st, st.block[t], below, third) and meet(st, st.block[t], below | third, stays)
        needed = st.own[t] & st.set[b]
        return bool(needed != 0 and needed & ~below == 0)
    if k > 0:
        return False
    if bottom == FILTER:
        if top == FILTER:
            return True
        if top == PROJECT:
            for w in range(st.words):
                if st.columns[b * st.words + w] & ~st.columns[t * st.words + w]:
                    return False
            return True
        # back up, but only above joins that it was written above
        if top == JOIN and st.block[t] >= 0:
            return bool(st.set[t] & ~st.beneath[b] == 0)
        return bool(top == JOIN and (st.joins[t] & ~st.above[b]) == 0)
    return bool(bottom == PROJECT and top == FILTER)


@jit
def may_rotate(st: State, i: int) -> bool:
    """Whether item i may change places with a neighbour at all."""
    return bool(st.kind[i] != SOURCE and st.free[i])


@jit
def rotation_from(st: State, t: int, at: int) -> tuple[int, int]:
    """The first rotation of item t from number `at` on, number 2 j + k: its slot j, and the child k of the
    child there that t descends to; -1 and -1 if there is none."""
    if may_rotate(st, t):
        for number in range(at, 2 * (st.first[t + 1] - st.first[t])):
            if descends(st, t, number >> 1, number & 1):
                return number >> 1, number & 1
    return -1, -1


@jit
def draw_rotation(st: State, t: int) -> tuple[int, int, int]:
    """A random rotation of item t: the child b that rises, its slot j, the child k of b that t descends to;
    k is -1 if it may not."""
    j = draw(st, st.first[t + 1] - st.first[t])
    b = st.child[st.first[t] + j]
    first, second = descends(st, t, j, 0), descends(st, t, j, 1)
    if first and second:
        return b, j, draw(st, 2)
    return b, j, 0 if first else (1 if second else -1)


@jit
def rotate(st: State, t: int, j: int, k: int) -> float:
    """A logical move; the new value."""
    begin(st)
    b = st.child[st.first[t] + j]
    touch_around(st, t)
    touch_around(st, b)
    turn(st, t, j, k)
    return finish(st)


@jit
def rotate_back(st: State, t: int, j: int, k: int, b: int) -> None:
    """Undoes the last `rotate`, which raised b above t."""
    turn(st, b, k, j)
    restore_roots(st)


@jit
def save(st: State) -> None:
    """Keeps the configuration as the best one."""
    for i in range(st.items):
        st.best_node[i] = st.node[i]
    for slot in range(st.slots):
        st.best_child[slot] = st.child[slot]


@jit
def configuration(st: State) -> int:
    """A hash of the whole configuration."""
    h = np.uint64(0x243F6A8885A308D3)
    for i in range(st.items):
        h = (h ^ np.uint64(st.node[i] + 2)) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(29)
    for slot in range(st.slots):
        h = (h ^ np.uint64(st.child[slot] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return np.int64(h >> np.uint64(1))


@jit
def logical(st: State) -> int:
    """A hash of the logical plan only: left and right of a join do not matter."""
    h = np.uint64(0x13198A2E03707344)
    total = np.uint64(0)
    for i in range(st.items):
        for slot in range(st.first[i], st.first[i + 1]):
            h = np.uint64(name(st, i) * 1000003 + name(st, st.child[slot]) + 7) * np.uint64(
                0x9E3779B97F4A7C15
            )
            h ^= h >> np.uint64(31)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            total += h ^ (h >> np.uint64(29))
    return np.int64(total >> np.uint64(1))
