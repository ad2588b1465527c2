"""What all regions of joins have in common (`demand`, `block_demand`): the sets of leaves that their joins
make, the rates of these sets, and what an item asks of a family of nodes."""

from __future__ import annotations

from weir_placement.search.kernel.jit import State, jit


@jit
def weight(st: State, f: int, i: int, load: float, size: float) -> float:
    """What item i with this load asks of family f; f = -1 counts loads over `size`."""
    if f < 0:
        return 1.0 if load > size else 0.0
    outside = st.family_outside_[f * st.items + i]
    return load if load > outside else 0.0


@jit
def numbers_at(st: State, p: int, at: int) -> int:
    """Where numbers of the program are at point p that are at `at` at the first one."""
    return p * st.items * 8 + at


@jit
def note_sets(st: State, tail: int, start: int, end: int, base: int) -> int:
    """Writes down a region's sets: their number, where they are listed, where their rates begin; `end`."""
    st.regions[tail] = end - start
    st.regions[tail + 1] = start
    st.regions[tail + 2] = base
    return end


@jit
def set_rate(st: State, at: int, base: int, s: int, rate: float) -> None:
    """The rate of set s of the region at `at`; below it, no leaf's rows count for more than that rate."""
    st.set_rate_[base + s] = rate
    for a in range(st.regions[at]):
        leaf = st.regions[at + 1 + a]
        if s >> a & 1 and st.region_rate_[leaf] > 0:
            st.region_shrink_[leaf] = min(st.region_shrink_[leaf], rate / st.region_rate_[leaf])
