"""Joins of a block have no conditions of their own: these follow from the sets of sources that meet.

So any two sets may be joined between which a window and an equality remain, written or implied, and a join's
numbers are those of its two sets (`rewrite.joined_rate`).
"""

from __future__ import annotations

from weir_placement.search.kernel.jit import State, jit


@jit
def meet(st: State, b: int, left: int, right: int) -> bool:
    """Whether a window and an equality of block b remain between two sets of aliases."""
    left, right = left >> st.block_bit[b], right >> st.block_bit[b]
    near, equal = 0, 0
    for a in range(st.block_size[b]):
        if left >> a & 1:
            near |= st.near[st.block_alias[b] + a]
            equal |= st.equal[st.block_alias[b] + a]
    return bool(near & right != 0 and equal & right != 0)


@jit
def factor(st: State, p: int, b: int, aliases: int) -> float:
    """The rate of a set of aliases over the product of its sources' rates, at point p."""
    return st.factor_[p * st.factors + st.block_factor[b] + (aliases >> st.block_bit[b])]


@jit
def narrowest(st: State, b: int, left: int, right: int, far: bool) -> float:
    """Half of the narrowest window between two sets, or with `far` the least reach of one [s]."""
    left, right = left >> st.block_bit[b], right >> st.block_bit[b]
    n = st.block_size[b]
    least = 1e300
    for a in range(n):
        if left >> a & 1:
            for c in range(n):
                if right >> c & 1:
                    at = st.block_pair[b] + a * n + c
                    least = min(least, st.reach_[at] if far else st.half_[at])
    return least if least < 1e300 else 0.0


@jit
def between(st: State, p: int, b: int, left: int, right: int) -> float:
    """The rate of a join over the product of its inputs' rates, at point p."""
    apart = factor(st, p, b, left) * factor(st, p, b, right)
    return max(factor(st, p, b, left | right) / apart, 1e-200) if apart > 0 else 1e-200


@jit
def number_join(st: State, i: int) -> None:
    """Gives join i the numbers of the two sets that it reads, if it is in a block."""
    b = st.block[i]
    if b < 0:
        return
    left, right = st.set[st.child[st.first[i]]], st.set[st.child[st.first[i] + 1]]
    for p in range(st.points):
        st.selectivity_[p * st.items + i] = between(st, p, b, left, right)
    st.pairs_[i] = 2.0 * narrowest(st, b, left, right, False)
    st.retention_[i] = narrowest(st, b, left, right, True) + st.delay_[i]


@jit
def name(st: State, i: int) -> int:
    """Item i, or for a join of a block its set: joins of a block are alike."""
    if st.block[i] < 0:
        return i
    return st.items + st.block[i] + (st.blocks + 1) * st.set[i]
