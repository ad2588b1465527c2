"""What flows out of each item: rates as polynomials of x, widths and masks, from the sources to the sink."""

from __future__ import annotations

from weir_placement.search.kernel.blocks import number_join
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import AGGREGATE, JOIN, SOURCE


@jit
def begin_walk(st: State, q: int) -> int:
    """Begins a walk over query q from its sources to its sink; how high `stack` is: 0 when it has ended."""
    st.stack[0] = st.sink[q]
    st.stack[1] = 0
    return 1


@jit
def walk(st: State, top: int) -> int:
    """To the next item, whose children all were visited: it is `walked(st, top)` of the height returned."""
    while True:
        i, k = st.stack[2 * top - 2], st.stack[2 * top - 1]
        if st.first[i] + k == st.first[i + 1]:
            return top - 1
        st.stack[2 * top - 1] = k + 1
        st.stack[2 * top] = st.child[st.first[i] + k]
        st.stack[2 * top + 1] = 0
        top += 1


@jit
def walked(st: State, top: int) -> int:
    """The item that a walk has come to."""
    return int(st.stack[2 * top])


@jit
def derive(st: State, i: int) -> None:
    """Rate, width and masks of item i from those of its children."""
    m, degree = st.items, st.degree
    kind = st.kind[i]
    first = st.first[i]
    if kind == SOURCE:
        st.low[i] = st.high[i] = 1
        for s in range(st.scenarios):
            st.rate_[(s * m + i) * degree + 1] = st.source_rate_[s * m + i]
        st.width_[i] = st.fixed_width_[i]
        return
    c = st.child[first]
    low, high = st.low[c], st.high[c]
    width, below, joins = st.width_[c], st.set[c], st.joins[c]
    for slot in range(first + 1, st.first[i + 1]):
        o = st.child[slot]
        if kind == JOIN:
            low += st.low[o]
            high += st.high[o]
            width += st.width_[o]
        else:
            low = min(low, st.low[o])
            high = max(high, st.high[o])
            width = max(width, st.width_[o])
        below |= st.set[o]
        joins |= st.joins[o]
    if kind == JOIN:
        joins |= st.above[i]  # a join's own bit
    st.set[i] = below
    if kind == JOIN:
        number_join(st, i)
    st.joins[i] = joins
    st.width_[i] = width if st.fixed_width_[i] < 0 else st.fixed_width_[i]
    for s in range(st.scenarios):
        to = (s * m + i) * degree
        share = st.selectivity_[st.point[s] * m + i]
        for d in range(degree):
            st.rate_[to + d] = 0.0
        if kind == AGGREGATE and st.capped[s * m + i]:
            st.rate_[to] = st.limit_[i]
            low = 0
        elif kind == JOIN:
            o = st.child[first + 1]
            a, b = (s * m + c) * degree, (s * m + o) * degree
            for p in range(st.low[c], st.high[c] + 1):
                left = st.rate_[a + p] * share
                for q in range(st.low[o], st.high[o] + 1):
                    st.rate_[to + p + q] += left * st.rate_[b + q]
        else:
            for slot in range(first, st.first[i + 1]):
                o = (s * m + st.child[slot]) * degree
                for d in range(low, high + 1):
                    st.rate_[to + d] += share * st.rate_[o + d]
    st.low[i] = low
    st.high[i] = high
