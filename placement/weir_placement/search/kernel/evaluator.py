"""Loads of a node and their roots, kept up to date by recomputing only the nodes that a move touches.

A node is summed afresh from its items each time: nothing is subtracted, so nothing drifts.
"""

from __future__ import annotations

import numpy as np

from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.latency import excess_at, latest
from weir_placement.search.kernel.layout import LATENCY, NETWORK
from weir_placement.search.kernel.node_loads import sum_node
from weir_placement.search.kernel.rates import begin_walk, derive, walk, walked

INFINITE = 1e300


@jit
def power(x: float, d: int) -> float:
    """x^d by squaring."""
    result = 1.0
    while d > 0:
        if d & 1:
            result *= x
        x *= x
        d >>= 1
    return result


@jit
def root(a: np.ndarray, offset: int, degree: int, capacity: float) -> float:
    """As `cost.load.root`: Newton from the right, on coefficients a[offset : offset + degree]."""
    free = capacity - a[offset]
    if free < 0:
        return -1.0
    low = 1
    while low < degree and a[offset + low] <= 0.0:
        low += 1
    if low == degree or free >= INFINITE:
        return INFINITE
    high = degree - 1
    while a[offset + high] <= 0.0:
        high -= 1
    x = free / a[offset + low]
    if low > 1:
        x = x ** (1.0 / low)
    if high == low:
        return x
    x = min(x, (free / a[offset + high]) ** (1.0 / high))
    for _ in range(200):
        load = a[offset + high]
        slope = 0.0
        for d in range(high - 1, -1, -1):
            slope = slope * x + load
            load = load * x + (a[offset + d] if d > 0 else 0.0)
        step = (load - free) / slope
        if step <= x * 2e-16:
            break
        x -= step
    return x


@jit
def place(st: State, i: int, n: int) -> None:
    """Puts item i on node n: lists only."""
    old = st.node[i]
    if old >= 0:
        before, after = st.previous[i], st.following[i]
        if before >= 0:
            st.following[before] = after
        else:
            st.head[old] = after
        if after >= 0:
            st.previous[after] = before
    st.node[i] = n
    if n >= 0:
        after = st.head[n]
        st.following[i] = after
        st.previous[i] = -1
        if after >= 0:
            st.previous[after] = i
        st.head[n] = i


@jit
def node_root(st: State, n: int) -> float:
    """The largest x that the constraints of node n allow: its cpu, memory, egress, ingress and links out."""
    degree = st.degree
    best = INFINITE
    solved = -1  # point whose root an earlier piece has given
    for s in range(st.scenarios):
        if st.point[s] == solved:
            continue
        links = sum_node(st, n, s)
        x = root(st.scratch_, 0, degree, st.cpu_[n])
        x = min(x, root(st.scratch_, degree, degree, st.memory_of_[n]))
        if st.flags & NETWORK:
            x = min(x, root(st.scratch_, 2 * degree, degree, st.egress_[n]))
            x = min(x, root(st.scratch_, 3 * degree, degree, st.ingress_[n]))
            if links:
                for to in range(st.nodes):
                    x = min(x, root(st.scratch_, (8 + to) * degree, degree, st.bandwidth_[n * st.nodes + to]))
        if x < st.until_[s]:
            solved = st.point[s]
            best = min(best, x)
    return best


@jit
def value(st: State) -> float:
    """Headroom of the configuration; -1 and less when it is infeasible (the more, the further from it)."""
    best = INFINITE
    for n in range(st.nodes):
        best = min(best, st.root_[n])
    if best < 0:
        over = 0.0
        for n in range(st.nodes):
            if st.root_[n] < 0:
                over += 1.0
        return -over
    if st.flags & LATENCY:
        excess = excess_at(st, 0.0)
        if excess > 0:
            return -excess
        if best > 0 and (best >= INFINITE or excess_at(st, best) > 0):
            best = latest(st, best)
    return best


@jit
def rebuild(st: State) -> float:
    """Everything that follows from `node` and `child`: readers, lists, rates, roots. Returns the value."""
    for n in range(st.nodes):
        st.head[n] = -1
        st.stamp[n] = 0
    for i in range(st.items):
        st.readers[i] = 0
    for i in range(st.items):
        for slot in range(st.first[i], st.first[i + 1]):
            c = st.child[slot]
            st.reader[c * st.uses + st.readers[c]] = i
            st.readers[c] += 1
    for i in range(st.items):
        n = st.node[i]
        st.node[i] = -1
        place(st, i, n)
    for q in range(st.queries):
        top = begin_walk(st, q)
        while top > 0:
            top = walk(st, top)
            derive(st, walked(st, top))
    for n in range(st.nodes):
        st.root_[n] = node_root(st, n)
    return value(st)
