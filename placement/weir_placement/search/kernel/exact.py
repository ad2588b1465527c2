"""Every logical plan by depth-first search over the moves, every placement of each by branch and bound.

Between two values nothing is lost: a branch is cut only if it cannot exceed the best value found.
"""

from __future__ import annotations

from weir_placement.search.kernel.cheapest import place_cheapest
from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS, GAVE_UP, LOGICAL_PLANS, STEPS
from weir_placement.search.kernel.evaluator import INFINITE, node_root, place, power, value
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import AGGREGATE, JOIN, SINK, SOURCE
from weir_placement.search.kernel.moves import logical, rotation_from, save, turn
from weir_placement.search.kernel.neighbourhood import EQUAL


@jit
def loads_at(st: State, x: float) -> None:
    """`need`: cpu and memory of each item at x, for each point, without flows and overheads."""
    m, degree, points = st.items, st.degree, st.points
    for s in range(st.scenarios):
        # the last piece of a point that begins below x is the one that holds
        if s > 0 and st.point[s] == st.point[s - 1] and st.until_[s - 1] > x:
            continue
        at = 2 * st.point[s]
        for i in range(m):
            kind = st.kind[i]
            cpu, memory = 0.0, 0.0
            if kind != SOURCE and kind != SINK:
                memory = st.memory_[i]
                for slot in range(st.first[i], st.first[i + 1]):
                    c = st.child[slot]
                    rate = 0.0
                    for d in range(st.low[c], st.high[c] + 1):
                        rate += st.rate_[(s * m + c) * degree + d] * power(x, d)
                    cpu += st.cost_[i] * rate
                    if kind == JOIN:
                        memory += st.retention_[i] * (st.width_[c] + st.row_overhead_[i]) * rate
                if kind in (JOIN, AGGREGATE):
                    out = 0.0
                    for d in range(st.low[i], st.high[i] + 1):
                        out += st.rate_[(s * m + i) * degree + d] * power(x, d)
                    memory += st.group_memory_[i] * out
                if kind == JOIN:
                    share = st.selectivity_[st.point[s] * m + i]
                    cpu += (st.cost_out_[i] + st.cost_pair_[i] * st.pairs_[i] / share) * out
            st.need_[i * 2 * points + at] = cpu
            st.need_[i * 2 * points + at + 1] = memory


@jit
def _prepare(st: State, best: float) -> int:
    """Order of placement (largest first), capacities and suffix sums at the value to beat.

    Returns the number of items to place, -1 if no placement can beat it.
    """
    points = st.points
    width = 2 * points
    count = 0
    for i in range(st.items):
        if st.choice_last[i] > st.choice_first[i]:
            st.order[count] = i
            count += 1
    if best > 0:
        loads_at(st, best * (1.0 + EQUAL))
    else:
        for k in range(st.items * width):
            st.need_[k] = 0.0
    for n in range(st.nodes):
        for k in range(points):
            st.left_[n * width + 2 * k] = st.cpu_[n]
            st.left_[n * width + 2 * k + 1] = st.memory_of_[n]
    for a in range(1, count):  # insertion sort: items with one candidate first, then by cpu
        i = st.order[a]
        b = a
        while b > 0 and _before(st, i, st.order[b - 1]):
            st.order[b] = st.order[b - 1]
            b -= 1
        st.order[b] = i
    for r in range(width):
        st.rest_[count * width + r] = 0.0
    for a in range(count - 1, -1, -1):
        for r in range(width):
            st.rest_[a * width + r] = st.rest_[(a + 1) * width + r] + st.need_[st.order[a] * width + r]
    for a in range(count):
        i = st.order[a]
        fits = False
        for c in range(st.choice_first[i], st.choice_last[i]):
            fits = fits or _fits(st, i, st.choice[c])
        if not fits:
            return -1
    return count


@jit
def _before(st: State, i: int, j: int) -> bool:
    one = st.choice_last[i] - st.choice_first[i] == 1
    other = st.choice_last[j] - st.choice_first[j] == 1
    if one != other:
        return bool(one)
    return bool(st.need_[i * 2 * st.points] > st.need_[j * 2 * st.points])


@jit
def _fits(st: State, i: int, n: int) -> bool:
    width = 2 * st.points
    for r in range(width):
        if st.need_[i * width + r] > st.left_[n * width + r]:
            return False
    return True


@jit
def _enough(st: State, depth: int) -> bool:
    """What is left on all nodes together carries what is still to be placed."""
    width = 2 * st.points
    for r in range(width):
        total = 0.0
        for n in range(st.nodes):
            total += st.left_[n * width + r]
        if st.rest_[depth * width + r] > total:
            return False
    return True


@jit
def _twin_tried(st: State, i: int, at: int) -> bool:
    """An untouched node of the same kind was tried before for this item."""
    n = st.choice[at]
    if st.head[n] >= 0:
        return False
    for c in range(st.choice_first[i], at):
        other = st.choice[c]
        if st.twin[other] == st.twin[n] and st.head[other] < 0:
            return True
    return False


@jit
def place_all(st: State, best: float, budget: int) -> float:
    """The best placement of the present logical plan, if it beats `best`; saved when found.

    out[EVALUATIONS] counts complete placements, out[STEPS] steps; out[GAVE_UP] becomes 1 when the budget
    or the time is used up.
    """
    width = 2 * st.points
    while True:
        count = _prepare(st, best)
        if count < 0:
            return best
        for i in range(st.items):
            place(st, i, -1)
        complete = False
        depth = 0
        st.tried[0] = st.choice_first[st.order[0]] if count else 0
        while depth >= 0:
            if depth == count:
                st.out[EVALUATIONS] += 1
                for n in range(st.nodes):
                    st.root_[n] = node_root(st, n) if st.head[n] >= 0 else INFINITE
                v = value(st)
                if v > best + EQUAL * abs(best) or best <= -INFINITE:
                    best = v
                    save(st)
                    complete = True
                    break
                depth -= 1
                continue
            i = st.order[depth]
            if st.node[i] >= 0:
                n = st.node[i]
                place(st, i, -1)
                for r in range(width):
                    st.left_[n * width + r] += st.need_[i * width + r]
            at = st.tried[depth]
            if at == st.choice_last[i]:
                depth -= 1
                continue
            st.tried[depth] = at + 1
            st.out[STEPS] += 1
            if st.out[STEPS] > budget or over(st):
                st.out[GAVE_UP] = 1
                return best
            n = st.choice[at]
            if not _fits(st, i, n) or _twin_tried(st, i, at):
                continue
            place(st, i, n)
            for r in range(width):
                st.left_[n * width + r] -= st.need_[i * width + r]
            if not _enough(st, depth + 1):
                continue
            depth += 1
            if depth < count:
                st.tried[depth] = st.choice_first[st.order[depth]]
        if not complete:
            return best


@jit
def _visited_before(st: State, h: int) -> bool:
    """Whether the logical plan with hash h was visited; remembers it. out[LOGICAL_PLANS] counts plans."""
    n = st.visited_size
    k = h % n
    while st.visited[k] != 0:
        if st.visited[k] == h:
            return True
        k = (k + 1) % n
    st.visited[k] = h
    st.out[LOGICAL_PLANS] += 1
    return False


@jit
def place_one(st: State, best: float, budget: int, cheapest: int) -> float:
    """The best placement of the present logical plan; with `cheapest` = 1 the cheapest one."""
    if cheapest == 1:
        place_cheapest(st, budget)
        return best
    return place_all(st, best, budget)


@jit
def exhaust(st: State, best: float, budget: int, cheapest: int) -> float:
    """Every logical plan that moves reach from the present one, and the best placement of each.

    Starts with a value to beat, or with `cheapest` = 1 a key to beat. out[GAVE_UP] is 1 if the budget of
    steps, the time, the table of plans or the path was too small: then the result is only the best found.
    """
    for k in range(st.visited_size):
        st.visited[k] = 0
    _visited_before(st, logical(st) | 1)
    best = place_one(st, best, budget, cheapest)
    depth = 0
    st.path[3] = 0  # next move to try at depth 0: t * 8 + 2 j + k
    while depth >= 0:
        if over(st):
            st.out[GAVE_UP] = 1
        if st.out[GAVE_UP]:
            return best
        nxt = st.path[4 * depth + 3]
        t, number = nxt // 8, nxt % 8
        if t == st.items:
            if depth > 0:
                turn(st, st.path[4 * depth], st.path[4 * depth + 1], st.path[4 * depth + 2])
            depth -= 1
            continue
        st.path[4 * depth + 3] = (t + 1) * 8
        if st.kind[t] == SOURCE or not st.free[t]:
            continue
        j, k = rotation_from(st, t, number)
        if k < 0:
            continue
        st.path[4 * depth + 3] = t * 8 + 2 * j + k + 1
        b = st.child[st.first[t] + j]
        turn(st, t, j, k)
        if _visited_before(st, logical(st) | 1):
            turn(st, b, k, j)
            continue
        if 2 * st.out[LOGICAL_PLANS] > st.visited_size or 4 * depth + 12 > st.path_size:
            st.out[GAVE_UP] = 1
            return best
        best = place_one(st, best, budget, cheapest)
        depth += 1
        st.path[4 * depth] = b
        st.path[4 * depth + 1] = k
        st.path[4 * depth + 2] = j
        st.path[4 * depth + 3] = 0
    return best
