"""How full the cluster is at least at x, whatever the logical plan and the placement.

Two relaxations, jointly over all logical plans: the fullest operator on its best node (a bottleneck
program), and all operators together on all nodes (a total-work program). Both are dynamic programs over
the connected sets of streams of each region of joins (`bounds.Regions` writes them down), at rates with
every selection pushed as far as it goes.
"""

from __future__ import annotations

from weir_placement.search.kernel.evaluator import INFINITE
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import JOIN


@jit
def _best_node(st: State, i: int) -> float:
    best = 0.0
    for c in range(st.choice_first[i], st.choice_first[i + 1]):
        best = max(best, st.cpu_[st.choice[c]])
    return best


@jit
def _region(st: State, at: int, fl: int, node: int) -> float:
    """The dynamic programs of one region; its rate. Adds to result[0] (total) and result[1] (fullest).

    Words from `at`: leaves m, the m leaves, edges, then (item, mask of the side of its first leaf, mask of
    both ends) for each, selections over several leaves, their masks. Numbers from `fl`: their selectivities.
    """
    m = st.regions[at]
    edges = st.regions[at + 1 + m]
    e0 = at + 2 + m
    filters = st.regions[e0 + 3 * edges]
    f0 = e0 + 3 * edges + 1
    size = 1 << m
    for s in range(1, size):
        rate, inside, leaves = 1.0, 0, 0
        for a in range(m):
            if s >> a & 1:
                rate *= st.region_rate_[st.regions[at + 1 + a]]
                leaves += 1
        for e in range(edges):
            ends = st.regions[e0 + 3 * e + 2]
            if s & ends == ends:
                rate *= st.selectivity_[st.regions[e0 + 3 * e]]
                inside += 1
        for f in range(filters):
            mask = st.regions[f0 + f]
            if s & mask == mask:
                rate *= st.region_number_[fl + f]
        st.set_rate_[s] = rate
        if inside != leaves - 1:
            st.set_work_[s] = -1.0  # not connected
            continue
        if leaves == 1:
            st.set_work_[s] = 0.0
            st.set_full_[s] = 0.0
            continue
        work, full = INFINITE, INFINITE
        for e in range(edges):
            ends = st.regions[e0 + 3 * e + 2]
            if s & ends != ends:
                continue
            i = st.regions[e0 + 3 * e]
            left = s & st.regions[e0 + 3 * e + 1]
            right = s & ~left
            if st.set_work_[left] < 0 or st.set_work_[right] < 0:
                continue
            load = st.cost_[i] * (st.set_rate_[left] + st.set_rate_[right])
            if st.kind[i] == JOIN:
                load += (st.cost_out_[i] + st.cost_pair_[i] * st.pairs_[i] / st.selectivity_[i]) * rate
            work = min(work, st.set_work_[left] + st.set_work_[right] + load)
            full = min(full, max(max(st.set_full_[left], st.set_full_[right]), load / _best_node(st, i)))
        st.set_work_[s] = work
        st.set_full_[s] = full
        for a in range(m):
            leaf = st.regions[at + 1 + a]
            if s >> a & 1 and st.region_rate_[leaf] > 0:
                st.region_shrink_[leaf] = min(st.region_shrink_[leaf], rate / st.region_rate_[leaf])
    st.result_[0] += st.set_work_[size - 1]
    st.result_[1] = max(st.result_[1], st.set_full_[size - 1])
    return st.set_rate_[size - 1]


@jit
def fullness(st: State, x: float) -> float:
    """At least this share of some node, or of all together, is used at x; over 1: no plan carries x.

    Region words: nodes of the program, then for each: kind (0 source, 1 region, 2 aggregate, 3 sum),
    parent, position of its words, of its numbers. A node's number 0 is the factor of the selections that
    end on it; after the node's own words come its unary operators with a multiplier each.
    """
    count = st.regions[0]
    worst = 0.0
    capacity = 0.0
    for n in range(st.nodes):
        capacity += st.cpu_[n]
    for p in range(st.points):
        s0 = 0
        while st.point[s0] != p:
            s0 += 1
        st.result_[0] = 0.0
        st.result_[1] = 0.0
        for v in range(count):
            st.region_shrink_[v] = 1.0
        for v in range(count):
            kind, at, fl = st.regions[1 + 4 * v], st.regions[3 + 4 * v], st.regions[4 + 4 * v]
            raw = 0.0
            if kind == 0:
                raw = st.source_rate_[s0 * st.items + st.regions[at]] * x
            elif kind == 1:
                raw = _region(st, at, fl + 1, v)
            elif kind == 2:
                i = st.regions[at]
                inner = st.region_rate_[st.regions[at + 1]]
                raw = min(st.limit_[i], st.selectivity_[i] * inner)
                load = st.cost_[i] * inner
                st.result_[0] += load
                st.result_[1] = max(st.result_[1], load / _best_node(st, i))
            else:
                i = st.regions[at]
                for c in range(st.regions[at + 1]):
                    raw += st.region_rate_[st.regions[at + 2 + c]]
                st.result_[0] += st.cost_[i] * raw
                st.result_[1] = max(st.result_[1], st.cost_[i] * raw / _best_node(st, i))
            st.region_rate_[v] = raw * st.region_number_[fl]
            st.region_raw_[v] = raw
        for v in range(count - 1, -1, -1):
            up = st.regions[2 + 4 * v]
            if up >= 0:
                st.region_shrink_[v] *= st.region_shrink_[up]
        ops = st.regions[1 + 4 * count]
        for k in range(ops):
            at = 2 + 4 * count + 4 * k
            i, v, moving, fl = st.regions[at], st.regions[at + 1], st.regions[at + 2], st.regions[at + 3]
            load = st.cost_[i] * st.region_raw_[v] * st.region_number_[fl]
            if moving:
                load *= st.region_shrink_[v]
            st.result_[0] += load
            st.result_[1] = max(st.result_[1], load / _best_node(st, i))
        worst = max(worst, max(st.result_[0] / capacity, st.result_[1]))
    return worst
