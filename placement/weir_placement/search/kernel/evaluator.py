"""Loads of a node and their roots, kept up to date by recomputing only the nodes that a move touches.

A node is summed afresh from its items each time: nothing is subtracted, so nothing drifts.
"""

from __future__ import annotations

import numpy as np

from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import (
    JOIN,
    LATENCY,
    NETWORK,
    OVERHEAD,
    SINK,
    SOURCE,
)
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
def ends_fragment(st: State, i: int) -> bool:
    """Operator i's output is delivered, has several readers, or leaves its node."""
    if st.readers[i] > 1:
        return True
    r = st.reader[i * st.uses]
    return bool(st.kind[r] == SINK or (st.node[r] >= 0 and st.node[r] != st.node[i]))


@jit
def first_reader(st: State, c: int, n: int) -> int:
    """The reader on node n that is charged with the flow of c's stream: of all items of that stream
    which enter at the same node, the first one's."""
    g = st.group[c]
    for k in range(st.group_first[g], st.group_first[g + 1]):
        e = st.group_item[k]
        if st.node[e] == st.node[c]:
            for u in range(st.readers[e]):
                r = st.reader[e * st.uses + u]
                if st.node[r] == n:
                    return r * st.items + e
    return -1


@jit
def _leaves(st: State, i: int, u: int) -> int:
    """The node to which reader u of item i makes a flow that is not counted yet, else -1."""
    r = st.reader[i * st.uses + u]
    to = st.node[r]
    if to < 0 or to == st.node[i]:
        return -1
    for v in range(u):
        if st.node[st.reader[i * st.uses + v]] == to:
            return -1
    if first_reader(st, i, to) != r * st.items + i:
        return -1
    return to


@jit
def _sum_node(st: State, n: int, s: int) -> int:
    """Polynomials of node n in scenario s into scratch: cpu, memory, egress, ingress, then links out.
    Returns 1 if the node uses links."""
    m, degree, a = st.items, st.degree, st.scratch_
    network = st.flags & NETWORK
    overhead = st.flags & OVERHEAD
    for k in range(4 * degree):
        a[k] = 0.0
    links = 0
    if network:
        for k in range(8 * degree, (8 + st.nodes) * degree):
            a[k] = 0.0
    i = st.head[n]
    while i >= 0:
        kind = st.kind[i]
        out = (s * m + i) * degree
        if kind != SOURCE and kind != SINK:
            a[degree] += st.memory_[i]
            cost = st.cost_[i]
            for slot in range(st.first[i], st.first[i + 1]):
                c = st.child[slot]
                rate = (s * m + c) * degree
                read = cost
                if (
                    overhead
                    and st.kind[c] != SOURCE
                    and (st.readers[c] > 1 or (st.node[c] >= 0 and st.node[c] != n))
                ):
                    read += st.overheads_[2]
                for d in range(st.low[c], st.high[c] + 1):
                    a[d] += read * st.rate_[rate + d]
                if kind == JOIN:
                    window_bytes = st.retention_[i] * (st.width_[c] + st.row_overhead_[i])
                    for d in range(st.low[c], st.high[c] + 1):
                        a[degree + d] += window_bytes * st.rate_[rate + d]
            per_out = st.cost_out_[i]
            if kind == JOIN and st.selectivity_[i] > 0:
                per_out += st.cost_pair_[i] * st.pairs_[i] / st.selectivity_[i]
            if overhead and ends_fragment(st, i):
                a[0] += st.overheads_[0] * st.processes_[i]
                a[degree] += st.overheads_[1] * st.processes_[i]
                r = st.reader[i * st.uses]
                if st.readers[i] > 1 or st.kind[r] != SINK:
                    per_out += st.overheads_[2]
            if per_out > 0:
                for d in range(st.low[i], st.high[i] + 1):
                    a[d] += per_out * st.rate_[out + d]
        if network:
            for u in range(st.readers[i]):
                to = _leaves(st, i, u)
                if to >= 0:
                    for d in range(st.low[i], st.high[i] + 1):
                        load = st.width_[i] * st.rate_[out + d]
                        a[2 * degree + d] += load
                        a[(8 + to) * degree + d] += load
                    links = 1
            for slot in range(st.first[i], st.first[i + 1]):
                c = st.child[slot]
                again = False
                for other in range(st.first[i], slot):
                    again = again or st.child[other] == c
                if not again and st.node[c] >= 0 and st.node[c] != n and first_reader(st, c, n) == i * m + c:
                    rate = (s * m + c) * degree
                    for d in range(st.low[c], st.high[c] + 1):
                        a[3 * degree + d] += st.width_[c] * st.rate_[rate + d]
        i = st.following[i]
    return links


@jit
def node_root(st: State, n: int) -> float:
    """The largest x that the constraints of node n allow: its cpu, memory, egress, ingress and links out."""
    degree = st.degree
    best = INFINITE
    solved = -1  # point whose root an earlier piece has given
    for s in range(st.scenarios):
        if st.point[s] == solved:
            continue
        links = _sum_node(st, n, s)
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
def _arrive(st: State, i: int) -> None:
    """Arrival [s] of the costliest path at item i, its own time included."""
    latest = 0.0
    to = st.node[i]
    for slot in range(st.first[i], st.first[i + 1]):
        c = st.child[slot]
        t = st.arrival_[c]
        at = st.node[c]
        if to >= 0 and at != to:
            t += st.latency_[at * st.nodes + to]
        if st.kind[c] != SOURCE and st.kind[i] != SINK and (st.readers[c] > 1 or at != to):
            t += st.overheads_[3]
        latest = max(latest, t)
    if st.kind[i] != SOURCE and st.kind[i] != SINK:
        latest += st.cost_[i] / st.core_[to]
    st.arrival_[i] = latest


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
        excess = 0.0
        for q in range(st.queries):
            if st.max_latency_[q] < INFINITE:
                top = begin_walk(st, q)
                while top > 0:
                    top = walk(st, top)
                    _arrive(st, walked(st, top))
                late = st.arrival_[st.sink[q]] / st.max_latency_[q] - 1.0
                if late > 1e-9:
                    excess += late
        if excess > 0:
            return -excess
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
