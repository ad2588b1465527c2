"""Loads of a node as polynomials of x: what its items cost, and what flows from it and to it."""

from __future__ import annotations

from weir_placement.search.kernel.entry_codes import SUMS
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import AGGREGATE, JOIN, NETWORK, OVERHEAD, SINK, SOURCE


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
def sum_node(st: State, n: int, s: int) -> int:
    """Polynomials of node n in scenario s into scratch: cpu, memory, egress, ingress, then links out.
    Returns 1 if the node uses links."""
    m, degree, a = st.items, st.degree, st.scratch_
    network = st.flags & NETWORK
    overhead = st.flags & OVERHEAD
    st.out[SUMS] += 1
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
                if overhead and st.kind[c] == SOURCE:
                    a[0] += st.overheads_[4]
                elif overhead and (st.readers[c] > 1 or (st.node[c] >= 0 and st.node[c] != n)):
                    a[0] += st.overheads_[4]
                    read += st.overheads_[2]
                for d in range(st.low[c], st.high[c] + 1):
                    a[d] += read * st.rate_[rate + d]
                if kind == JOIN:
                    window_bytes = st.retention_[i] * (st.width_[c] + st.row_overhead_[i])
                    for d in range(st.low[c], st.high[c] + 1):
                        a[degree + d] += window_bytes * st.rate_[rate + d]
            if kind == AGGREGATE:
                for d in range(st.low[i], st.high[i] + 1):
                    a[degree + d] += st.group_memory_[i] * st.rate_[out + d]
            per_out = st.cost_out_[i]
            share = st.selectivity_[st.point[s] * m + i]
            if kind == JOIN and share > 0:
                per_out += st.cost_pair_[i] * st.pairs_[i] / share
            if overhead and kind in (JOIN, AGGREGATE):
                a[0] += st.overheads_[5] * (st.first[i + 1] - st.first[i])
            shared = st.sharing[i]
            if overhead and shared >= 0 and st.counted[shared] != st.out[SUMS]:
                st.counted[shared] = st.out[SUMS]
                a[0] += st.overheads_[6]
                a[degree] += st.overheads_[7]
            if overhead and ends_fragment(st, i):
                own = 1.0 if shared < 0 else 0.0
                a[0] += (st.overheads_[0] + own * st.overheads_[6]) * st.processes_[i]
                a[degree] += (st.overheads_[1] + own * st.overheads_[7]) * st.processes_[i]
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
