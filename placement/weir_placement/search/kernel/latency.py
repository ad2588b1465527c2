"""Latency at one x: what `cost.latency` computes, and the largest x at which every limit is kept."""

from __future__ import annotations

from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import NETWORK, SINK, SOURCE
from weir_placement.search.kernel.node_loads import sum_node
from weir_placement.search.kernel.rates import begin_walk, walk, walked

INFINITE = 1e300
FINE = 1e-13
"""Relative: how closely the largest x is found."""


@jit
def _at(st: State, offset: int, x: float) -> float:
    """The polynomial of `scratch` at `offset`, at x."""
    total = 0.0
    for d in range(st.degree - 1, -1, -1):
        total = total * x + st.scratch_[offset + d]
    return total


@jit
def _loads_at(st: State, p: int, x: float) -> None:
    """Loads of nodes (cpu, egress, ingress) and links at x at point p."""
    s = 0
    while st.point[s] != p or x >= st.until_[s]:
        s += 1
    for n in range(st.nodes):
        if st.head[n] < 0:
            continue
        sum_node(st, n, s)
        st.load_at_[n] = _at(st, 0, x)
        if st.flags & NETWORK:
            st.load_at_[st.nodes + n] = _at(st, 2 * st.degree, x)
            st.load_at_[2 * st.nodes + n] = _at(st, 3 * st.degree, x)
            for to in range(st.nodes):
                st.link_at_[n * st.nodes + to] = _at(st, (8 + to) * st.degree, x)


@jit
def _wait(seconds: float, capacity: float, load: float) -> float:
    """Seconds of work stretched by what shares the capacity."""
    if seconds <= 0.0 or capacity >= INFINITE:
        return seconds
    return seconds * capacity / (capacity - load) if load < capacity else INFINITE


@jit
def _sent(width: float, capacity: float, load: float) -> float:
    """Seconds in which a tuple passes a limited line."""
    if capacity >= INFINITE:
        return 0.0
    return width / (capacity - load) if load < capacity else INFINITE


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
            if st.flags & NETWORK:
                width = st.width_[c]
                t += _sent(width, st.egress_[at], st.load_at_[st.nodes + at])
                t += _sent(width, st.ingress_[to], st.load_at_[2 * st.nodes + to])
                t += _sent(width, st.bandwidth_[at * st.nodes + to], st.link_at_[at * st.nodes + to])
        if st.kind[i] != SINK and (st.kind[c] == SOURCE or st.readers[c] > 1 or at != to):
            t += _wait(st.overheads_[3], st.cpu_[to], st.load_at_[to])
        latest = max(latest, t)
    if st.kind[i] != SOURCE and st.kind[i] != SINK:
        latest += _wait(st.cost_[i] / st.core_[to], st.cpu_[to], st.load_at_[to])
    st.arrival_[i] = latest


@jit
def excess_at(st: State, x: float) -> float:
    """By what shares of their limits queries are late at x, in all; 0.0: none is."""
    excess = 0.0
    for p in range(st.points):
        _loads_at(st, p, x)
        for q in range(st.queries):
            if st.max_latency_[q] < INFINITE:
                top = begin_walk(st, q)
                while top > 0:
                    top = walk(st, top)
                    _arrive(st, walked(st, top))
                late = st.arrival_[st.sink[q]] / st.max_latency_[q] - 1.0
                if late > 1e-9:
                    excess += min(late, 1e6)
    return excess


@jit
def latest(st: State, high: float) -> float:
    """The largest x below `high` at which no query is late, by bisection: latencies grow with x."""
    low = 0.0
    if high >= INFINITE:
        high = 1.0
        while excess_at(st, high) <= 0.0:
            low, high = high, 2 * high
            if high > 1e30:
                return INFINITE
    while high > low * (1 + FINE):
        middle = (low + high) / 2
        if middle <= low or middle >= high or high < 1e-30:
            break
        if excess_at(st, middle) > 0:
            high = middle
        else:
            low = middle
    return low
