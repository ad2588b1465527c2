"""How full the cluster is at least at x, whatever the logical plan and the placement.

A family is some of the nodes. What must run on them (an operator whose load is more than any node outside
carries) may not be more than they carry together: all nodes give the total-work bound, no node the bound
by the largest operator. `demand` tells the least that any logical plan asks of a family. Where no family is
too full, the least sizes of the large operators are packed.
"""

from __future__ import annotations

from weir_placement.search.kernel.demand import flow_at, least_load
from weir_placement.search.kernel.jit import State, jit

MOST_PACKED = 64
"""Operators, the largest, that are packed; the rest is taken to be fluid."""
STEPS = 4000
"""Of the packing: beyond, it is taken to be possible."""
FINE = 1e-4


@jit
def _least_sizes(st: State, p: int, large: float, least: float, limit: int) -> int:
    """pack_size: every logical plan has a k-th largest operator of at least the k-th of these sizes at point
    p, down to `least`; found by bisection on how many there must be over a size. How many sizes there are."""
    count = 0
    over, count_over = large, 0
    while count < limit:
        # the next step of the staircase below `over`, where `count_over` operators are larger
        low, high = least, over
        at_low = int(least_load(st, p, -1, low))
        if at_low <= count_over:
            return count
        while high > low * (1 + FINE):
            middle = (low * high) ** 0.5
            if int(least_load(st, p, -1, middle)) > count_over:
                low = middle
            else:
                high = middle
        at_low = int(least_load(st, p, -1, low))
        for _ in range(at_low - count_over):
            if count < limit:
                st.pack_size_[count] = low
                count += 1
        over, count_over = low, at_low
    return count


@jit
def _usable(st: State, smallest: float) -> float:
    total = 0.0
    for n in range(st.nodes):
        if st.left_[n] >= smallest:
            total += st.left_[n]
    return total


@jit
def may_pack(st: State, p: int) -> bool:
    """Whether the least sizes of the large operators at point p fit on the nodes, by branch and bound."""
    large = 0.0
    smallest = 1e300
    for n in range(st.nodes):
        st.left_[n] = st.cpu_[n]
        large = max(large, st.cpu_[n])
        if st.cpu_[n] > 0:
            smallest = min(smallest, st.cpu_[n])
    if large >= 1e300:
        return True
    count = _least_sizes(st, p, large, max(smallest / 8, large / 64), min(st.items, MOST_PACKED))
    rest = least_load(st, p, 0, 0.0)  # the family of all nodes: total work
    for k in range(count):
        rest -= st.pack_size_[k]
    st.pack_rest_[count] = max(rest, 0.0)
    for k in range(count - 1, -1, -1):
        st.pack_rest_[k] = st.pack_rest_[k + 1] + st.pack_size_[k]
        st.pack_node[k] = -1
    depth, steps = 0, 0
    while depth >= 0:
        if depth == count:
            return True
        size = st.pack_size_[depth]
        n = st.pack_node[depth]
        if n >= 0:
            st.left_[n] += size
        n += 1
        while n < st.nodes and st.left_[n] < size:
            n += 1
        if n == st.nodes:
            st.pack_node[depth] = -1
            depth -= 1
            continue
        steps += 1
        if steps > STEPS:
            return True
        st.pack_node[depth] = n
        st.left_[n] -= size
        same = False  # an item of equal size goes no further back; a node with equal room was tried
        for other in range(n):
            same = same or st.left_[other] == st.left_[n] + size
        if depth > 0 and st.pack_size_[depth - 1] == size and n < st.pack_node[depth - 1]:
            same = True
        if same:
            continue
        after = st.pack_size_[depth + 1] if depth + 1 < count else 0.0
        smallest = st.pack_size_[count - 1] if count > 0 and st.pack_rest_[count] <= 0 else 0.0
        if _usable(st, min(after, smallest)) < st.pack_rest_[depth + 1] * (1 - 1e-12):
            continue
        depth += 1
    return False


@jit
def fullness(st: State, x: float, packed: bool) -> float:
    """At least this share of some family of nodes is used at x; over 1: no plan carries x.

    It stops at the first family that is more than full. With `packed`, large operators are also packed.
    """
    worst = 0.0
    for p in range(st.points):
        s0 = 0
        while st.point[s0] != p:
            s0 += 1
        flow_at(st, s0, x)
        for f in range(st.families):
            capacity = st.family_capacity_[f]
            weight = least_load(st, p, f, 0.0)
            if weight > capacity:
                return 2.0
            if capacity > 0:
                worst = max(worst, weight / capacity)
        if packed and not may_pack(st, p):
            return 2.0
    return worst
