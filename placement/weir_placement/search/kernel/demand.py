"""The least that any logical plan asks of a family of nodes at rates with every selection pushed as far as
it goes: a dynamic program over the connected sets of streams of each region of joins (`bounds.Regions`
writes them down)."""

from __future__ import annotations

from weir_placement.search.kernel.block_demand import block_load, block_rates, block_sets
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import (
    AGGREGATE_NODE,
    BLOCK_REGION,
    JOIN,
    JOIN_REGION,
    SAME_NODE,
    SOURCE_NODE,
    SUM_NODE,
)
from weir_placement.search.kernel.region_sets import note_sets, numbers_at, set_rate, weight


@jit
def _edges(st: State, at: int) -> int:
    """Position of a region's edges: words from `at` are m, the m leaves, the number of edges, then (item,
    mask of the side of its first leaf, mask of both ends) for each, the number of selections over several
    leaves, their masks, the number of connected sets, where they are listed, and where the rates of the
    region's sets begin."""
    return at + 2 + st.regions[at]


@jit
def connected_sets(st: State, at: int, start: int, base: int) -> int:
    """Lists the connected sets of a region from `start` on, smaller ones first; where the list ends,
    -1 if it does not fit."""
    m = st.regions[at]
    edges = st.regions[at + 1 + m]
    e0 = _edges(st, at)
    tail = e0 + 3 * edges + 1 + st.regions[e0 + 3 * edges]
    end = start
    for s in range(1, 1 << m):
        inside, leaves = 0, 0
        for a in range(m):
            leaves += s >> a & 1
        for e in range(edges):
            ends = st.regions[e0 + 3 * e + 2]
            if s & ends == ends:
                inside += 1
        if inside == leaves - 1:
            if end == st.set_limit:
                return -1
            st.set_list[end] = s
            end += 1
    return note_sets(st, tail, start, end, base)


@jit
def _set_rates(st: State, p: int, at: int, fl: int) -> float:
    """Rates of a region's connected sets at the present rates of its leaves, at point p; the rate of all."""
    m = st.regions[at]
    edges = st.regions[at + 1 + m]
    e0 = _edges(st, at)
    filters = st.regions[e0 + 3 * edges]
    f0 = e0 + 3 * edges + 1
    count, start, base = st.regions[f0 + filters], st.regions[f0 + filters + 1], st.regions[f0 + filters + 2]
    for a in range(m):
        st.set_rate_[base + (1 << a)] = st.region_rate_[st.regions[at + 1 + a]]
    for k in range(start, start + count):
        s = st.set_list[k]
        if s & (s - 1) == 0:
            continue
        e = 0
        while s & st.regions[e0 + 3 * e + 2] != st.regions[e0 + 3 * e + 2]:
            e += 1
        left = s & st.regions[e0 + 3 * e + 1]
        right = s & ~left
        share = st.selectivity_[p * st.items + st.regions[e0 + 3 * e]]
        rate = st.set_rate_[base + left] * st.set_rate_[base + right] * share
        for f in range(filters):
            mask = st.regions[f0 + f]
            if s & mask == mask and left & mask != mask and right & mask != mask:
                rate *= st.region_number_[fl + f]
        set_rate(st, at, base, s, rate)
    return st.set_rate_[base + (1 << m) - 1]


@jit
def _region(st: State, p: int, at: int, f: int, size: float) -> float:
    """The least that any order of a region's joins asks of family f."""
    m = st.regions[at]
    edges = st.regions[at + 1 + m]
    e0 = _edges(st, at)
    f0 = e0 + 3 * edges + 1
    filters = st.regions[f0 - 1]
    count, start, base = st.regions[f0 + filters], st.regions[f0 + filters + 1], st.regions[f0 + filters + 2]
    for k in range(start, start + count):
        s = st.set_list[k]
        if s & (s - 1) == 0:
            st.set_work_[s] = 0.0
            continue
        rate = st.set_rate_[base + s]
        least = 1e300
        for e in range(edges):
            ends = st.regions[e0 + 3 * e + 2]
            if s & ends != ends:
                continue
            i = st.regions[e0 + 3 * e]
            left = s & st.regions[e0 + 3 * e + 1]
            right = s & ~left
            work = st.set_work_[left] + st.set_work_[right]
            if work >= least:
                continue
            load = st.cost_[i] * (st.set_rate_[base + left] + st.set_rate_[base + right])
            if st.kind[i] == JOIN:
                share = st.selectivity_[p * st.items + i]
                load += (st.cost_out_[i] + st.cost_pair_[i] * st.pairs_[i] / share) * rate
            least = min(least, work + weight(st, f, i, load, size))
        st.set_work_[s] = least
    return st.set_work_[(1 << m) - 1]


@jit
def flow_at(st: State, s0: int, x: float) -> None:
    """The least rates of the program's nodes at x in scenario s0, and how far operators may shrink.

    Region words: nodes of the program, then for each: kind (as in `layout`: SOURCE_NODE, ...),
    parent, position of its words, of its numbers. A node's number 0 is the factor of the selections that
    end on it. Then follow the operators (item, node) that read what a node gives, and the positions of the
    chains.
    """
    count, p = st.regions[0], st.point[s0]
    for v in range(count):
        st.region_shrink_[v] = 1.0
    for v in range(count):
        kind, at = st.regions[1 + 4 * v], st.regions[3 + 4 * v]
        fl = numbers_at(st, p, st.regions[4 + 4 * v])
        raw = 0.0
        if kind == SOURCE_NODE:
            raw = st.source_rate_[s0 * st.items + st.regions[at]] * x
        elif kind == JOIN_REGION:
            raw = _set_rates(st, p, at, fl + 1)
        elif kind == BLOCK_REGION:
            raw = block_rates(st, p, at, fl + 1)
        elif kind == AGGREGATE_NODE:
            i = st.regions[at]
            raw = min(st.limit_[i], st.selectivity_[p * st.items + i] * st.region_rate_[st.regions[at + 1]])
        elif kind == SAME_NODE:
            raw = st.region_rate_[st.regions[at]]
        else:
            for c in range(st.regions[at + 1]):
                raw += st.region_rate_[st.regions[at + 2 + c]]
        st.region_rate_[v] = raw * st.region_number_[fl]
        st.region_raw_[v] = raw
    for v in range(count - 1, -1, -1):
        up = st.regions[2 + 4 * v]
        if up >= 0:
            st.region_shrink_[v] *= st.region_shrink_[up]


@jit
def _chain(st: State, p: int, at: int, f: int, size: float) -> float:
    """The least that the selections and projections right above a source ask of family f.

    The first k selections, the most selective first, run there, the others above the joins; k is at
    least the number that were written there, and such that some join can read what they leave. Words:
    node, that number, selections, projections, readers, position of the numbers, then these items;
    numbers: the least cost of a selection, then selectivities, the smallest first.
    """
    v, least_k, filters = st.regions[at], st.regions[at + 1], st.regions[at + 2]
    projections, readers = st.regions[at + 3], st.regions[at + 4]
    fl = numbers_at(st, p, st.regions[at + 5])
    first = at + 6
    cost = st.region_number_[fl]
    deferred = 1e300
    for j in range(filters):
        i = st.regions[first + j]
        share = max(st.selectivity_[p * st.items + i], 1e-12)
        load = st.cost_[i] * st.region_rate_[v] / share * st.region_shrink_[v]
        deferred = min(deferred, weight(st, f, i, load, size))
    rate = st.region_raw_[v]
    chain = 0.0
    best = 1e300
    for k in range(filters + 1):
        readable = k == filters
        for j in range(readers):
            i = st.regions[first + filters + projections + j]
            readable = readable or st.cost_[i] * rate <= st.largest_[i]
        if k >= least_k and readable:
            total = chain
            if k < filters:
                total += (filters - k) * deferred
            for j in range(projections):
                i = st.regions[first + filters + j]
                total += weight(st, f, i, st.cost_[i] * rate, size)
            best = min(best, total)
        if k < filters:
            least = 1e300
            for j in range(filters):
                least = min(least, weight(st, f, st.regions[first + j], cost * rate, size))
            chain += least
            rate *= st.region_number_[fl + 1 + k]
    return best


@jit
def least_load(st: State, p: int, f: int, size: float) -> float:
    """The least that any logical plan asks of family f at the present rates, which are those of point p; for
    f = -1, how many operators larger than `size` there are at least."""
    count = st.regions[0]
    total = 0.0
    for v in range(count):
        kind, at = st.regions[1 + 4 * v], st.regions[3 + 4 * v]
        if kind == JOIN_REGION:
            total += _region(st, p, at, f, size)
        elif kind == BLOCK_REGION:
            total += block_load(st, at, f, size)
        elif kind == AGGREGATE_NODE:
            i = st.regions[at]
            total += weight(st, f, i, st.cost_[i] * st.region_rate_[st.regions[at + 1]], size)
        elif kind == SUM_NODE:
            i = st.regions[at]
            total += weight(st, f, i, st.cost_[i] * st.region_raw_[v], size)
    at = 1 + 4 * count
    for _ in range(st.regions[at]):
        i, v = st.regions[at + 1], st.regions[at + 2]
        total += weight(st, f, i, st.cost_[i] * st.region_rate_[v], size)
        at += 2
    at += 1
    for _ in range(st.regions[at]):
        total += _chain(st, p, st.regions[at + 1], f, size)
        at += 1
    return total


@jit
def prepare(st: State) -> int:
    """Lists the connected sets of every region; 0 if they do not fit."""
    end = 0
    base = 0
    for v in range(st.regions[0]):
        block = st.regions[1 + 4 * v] == BLOCK_REGION
        if block or st.regions[1 + 4 * v] == JOIN_REGION:
            at = st.regions[3 + 4 * v]
            if base + (1 << st.regions[at]) > st.set_limit:
                return 0
            end = block_sets(st, at, end, base) if block else connected_sets(st, at, end, base)
            if end < 0:
                return 0
            base += 1 << st.regions[at]
    return 1
