"""The least that any order of a block's joins asks of a family of nodes (`demand` for regions of blocks).

Region words: m, its m leaves, the block, one of its joins (they are alike), the aliases of each leaf, the
number of selections over several leaves, their masks, the number of sets that joins can make, where they are
listed, and where the rates of the region's sets begin; a rate below 0 is that of a set that no joins make.
"""

from __future__ import annotations

from weir_placement.search.kernel.blocks import factor, meet, narrowest
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.region_sets import note_sets, set_rate, weight


@jit
def _selections(st: State, at: int) -> int:
    """Position of the number of selections."""
    return at + 3 + 2 * st.regions[at]


@jit
def _aliases(st: State, at: int) -> None:
    """set_aliases: those of each set of leaves."""
    m = st.regions[at]
    for s in range(1 << m):
        below = 0
        for a in range(m):
            if s >> a & 1:
                below |= st.regions[at + 3 + m + a]
        st.set_aliases[s] = below


@jit
def block_sets(st: State, at: int, start: int, base: int) -> int:
    """Lists the sets that legal joins make from `start` on, smaller ones first; where the list ends, -1 if it
    does not fit."""
    m, b = st.regions[at], st.regions[at + 1 + st.regions[at]]
    tail = _selections(st, at) + 1 + st.regions[_selections(st, at)]
    _aliases(st, at)
    end = start
    for s in range(1, 1 << m):
        possible = s & (s - 1) == 0
        left = (s - 1) & s
        while left > 0 and not possible:
            right = s & ~left
            parts = st.set_rate_[base + left] > 0 and st.set_rate_[base + right] > 0
            possible = parts and meet(st, b, st.set_aliases[left], st.set_aliases[right])
            left = (left - 1) & s
        st.set_rate_[base + s] = 1.0 if possible else -1.0
        if possible:
            if end == st.set_limit:
                return -1
            st.set_list[end] = s
            end += 1
    return note_sets(st, tail, start, end, base)


@jit
def block_rates(st: State, p: int, at: int, fl: int) -> float:
    """Rates of a region's sets at the present rates of its leaves, at point p; the rate of all."""
    m, b = st.regions[at], st.regions[at + 1 + st.regions[at]]
    f0 = _selections(st, at) + 1
    filters = st.regions[f0 - 1]
    count, start, base = st.regions[f0 + filters], st.regions[f0 + filters + 1], st.regions[f0 + filters + 2]
    _aliases(st, at)
    for k in range(start, start + count):
        s = st.set_list[k]
        rate = factor(st, p, b, st.set_aliases[s])
        for a in range(m):
            if s >> a & 1:
                rate *= st.region_rate_[st.regions[at + 1 + a]] / factor(st, p, b, st.set_aliases[1 << a])
        for f in range(filters):
            if s & st.regions[f0 + f] == st.regions[f0 + f]:
                rate *= st.region_number_[fl + f]
        set_rate(st, at, base, s, rate)
    return st.set_rate_[base + (1 << m) - 1]


@jit
def block_load(st: State, at: int, f: int, size: float) -> float:
    """The least that any order of the region's joins asks of family f."""
    m, b, i = st.regions[at], st.regions[at + 1 + st.regions[at]], st.regions[at + 2 + st.regions[at]]
    f0 = _selections(st, at) + 1
    filters = st.regions[f0 - 1]
    count, start, base = st.regions[f0 + filters], st.regions[f0 + filters + 1], st.regions[f0 + filters + 2]
    _aliases(st, at)
    for k in range(start, start + count):
        s = st.set_list[k]
        if s & (s - 1) == 0:
            st.set_work_[s] = 0.0
            continue
        out = st.cost_out_[i] * st.set_rate_[base + s]
        least = 1e300
        left = (s - 1) & s
        while left > 0:
            right = s & ~left
            one, other = st.set_rate_[base + left], st.set_rate_[base + right]
            if left > right and one >= 0 and other >= 0:
                work = st.set_work_[left] + st.set_work_[right]
                own, others = st.set_aliases[left], st.set_aliases[right]
                if work < least and meet(st, b, own, others):
                    load = st.cost_[i] * (one + other) + out
                    load += st.cost_pair_[i] * 2.0 * narrowest(st, b, own, others, False) * one * other
                    least = min(least, work + weight(st, f, i, load, size))
            left = (left - 1) & s
        st.set_work_[s] = least
    return st.set_work_[(1 << m) - 1]
