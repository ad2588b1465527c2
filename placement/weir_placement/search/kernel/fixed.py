"""Annealing at one x, where rates and loads are numbers: for problems without limits on the network.

What `settle` does by roots of polynomials is here a handful of additions. x is the headroom of the best
plan so far: a plan whose fullest node is less than full at x is better. It is then measured exactly.
"""

from __future__ import annotations

import math

from weir_placement.search.kernel.blocks import number_join
from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.crowd import crowd, fill, fullest
from weir_placement.search.kernel.entry_codes import EVALUATIONS, LATE
from weir_placement.search.kernel.evaluator import INFINITE, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import AGGREGATE, JOIN, SINK, SOURCE
from weir_placement.search.kernel.moves import draw, draw_rotation, may_rotate, relink, save, uniform
from weir_placement.search.kernel.rates import begin_walk, walk, walked
from weir_placement.search.kernel.settle import (
    COLD,
    DOUBLINGS,
    HOT,
    RELOCATION,
    ROTATION,
    SWAP,
    SWAPS,
    TEMPERATURES,
    draw_partner,
    may_run,
)

REPLACEMENTS = 0.05
"""Share of physical moves that exchange an operator for several."""
REPLACEMENT = 3
"""One operator goes to a node, several from there to its own; beside the moves of `settle`."""


@jit
def _measure(st: State, i: int, x: float) -> None:
    """Masks, width, and for each point rate and loads of item i at x, from its children."""
    m, kind, first = st.items, st.kind[i], st.first[i]
    points = st.points
    if kind == SOURCE:
        st.width_[i] = st.fixed_width_[i]
        s = 0
        for p in range(points):
            while st.point[s] != p:
                s += 1
            st.flow_[p * m + i] = st.source_rate_[s * m + i] * x
            st.need_[2 * (i * points + p)] = 0.0
            st.need_[2 * (i * points + p) + 1] = 0.0
        return
    width, below, joins = 0.0, 0, 0
    for slot in range(first, st.first[i + 1]):
        c = st.child[slot]
        width = width + st.width_[c] if kind == JOIN else max(width, st.width_[c])
        below |= st.set[c]
        joins |= st.joins[c]
    if kind == JOIN:
        joins |= st.above[i]
    st.set[i] = below
    st.joins[i] = joins
    if kind == JOIN:
        number_join(st, i)
    st.width_[i] = width if st.fixed_width_[i] < 0 else st.fixed_width_[i]
    for p in range(points):
        cpu, memory = 0.0, st.memory_[i]
        rate = 1.0 if kind == JOIN else 0.0
        for slot in range(first, st.first[i + 1]):
            c = st.child[slot]
            flow = st.flow_[p * m + c]
            cpu += st.cost_[i] * flow
            if kind == JOIN:
                rate *= flow
                memory += st.retention_[i] * (st.width_[c] + st.row_overhead_[i]) * flow
            else:
                rate += flow
        share = st.selectivity_[p * m + i]
        rate *= share
        if kind == JOIN:
            cpu += (st.cost_out_[i] + st.cost_pair_[i] * st.pairs_[i] / share) * rate
        elif kind == AGGREGATE:
            rate = min(rate, st.limit_[i])
            memory += st.group_memory_[i] * rate
        st.flow_[p * m + i] = rate
        st.need_[2 * (i * points + p)] = 0.0 if kind == SINK else cpu
        st.need_[2 * (i * points + p) + 1] = 0.0 if kind == SINK else memory


@jit
def measure_all(st: State, x: float) -> None:
    """Everything at x: items from the sources up, then nodes."""
    for q in range(st.queries):
        top = begin_walk(st, q)
        while top > 0:
            top = walk(st, top)
            _measure(st, walked(st, top), x)
    width = 2 * st.points
    for k in range(st.nodes * width):
        st.left_[k] = 0.0
    for i in range(st.items):
        if st.node[i] >= 0:
            _add(st, i, st.node[i], 1.0)
    for n in range(st.nodes):
        fill(st, n)


@jit
def _add(st: State, i: int, n: int, sign: float) -> None:
    width = 2 * st.points
    for r in range(width):
        st.left_[n * width + r] += sign * st.need_[i * width + r]


@jit
def _move(st: State, i: int, to: int) -> None:
    """Item i to another node: loads and lists."""
    old = st.node[i]
    shift(st, i, to)
    fill(st, old)
    fill(st, to)


@jit
def turn_at(st: State, t: int, j: int, k: int, x: float) -> None:
    """The rotation of `moves.turn` at x."""
    b = st.child[st.first[t] + j]
    _add(st, t, st.node[t], -1.0)
    _add(st, b, st.node[b], -1.0)
    relink(st, t, j, k)
    _measure(st, t, x)
    _measure(st, b, x)
    _add(st, t, st.node[t], 1.0)
    _add(st, b, st.node[b], 1.0)
    fill(st, st.node[t])
    fill(st, st.node[b])


@jit
def _replace(st: State, i: int, to: int) -> None:
    """Item i to another node, from where a random half of the items goes to its old node. `stack` keeps
    how many moved, and which."""
    old = st.node[i]
    moved = 1
    st.stack[1] = i
    for e in range(st.items):
        if st.node[e] == to and draw(st, 2) == 0 and may_run(st, e, old):
            moved += 1
            st.stack[moved] = e
            shift(st, e, old)
    shift(st, i, to)
    st.stack[0] = moved
    fill(st, old)
    fill(st, to)


@jit
def _replace_back(st: State, old: int, to: int) -> None:
    shift(st, st.stack[1], old)
    for k in range(2, st.stack[0] + 1):
        shift(st, st.stack[k], to)
    fill(st, old)
    fill(st, to)


@jit
def shift(st: State, i: int, to: int) -> None:
    _add(st, i, st.node[i], -1.0)
    _add(st, i, to, 1.0)
    st.node[i] = to


@jit
def settle_fixed(st: State, iterations: int, goal: float) -> float:
    """As `settle.settle`: the best value, whose configuration is saved."""
    best = rebuild(st)
    save(st)
    for level in range(TEMPERATURES):
        if best >= goal or best >= INFINITE or st.out[LATE]:
            return best
        x = best if best > 0 else 1.0
        least = 1.0 if best > 0 else INFINITE
        measure_all(st, x)
        crowded = crowd(st)
        improved = False
        t = HOT * (COLD / HOT) ** (level / (TEMPERATURES - 1.0)) * (1 << DOUBLINGS)
        for _ in range(iterations):
            if over(st):
                break
            i = draw(st, st.items)
            b = j = k = old = -1
            move = ROTATION
            if draw(st, 2) == 0:
                n = st.choice_last[i] - st.choice_first[i]
                if n < 2:
                    continue
                old = st.node[i]
                chance = uniform(st)
                if chance < REPLACEMENTS:
                    to = st.choice[st.choice_first[i] + draw(st, n)]
                    if to == old:
                        continue
                    move = REPLACEMENT
                    _replace(st, i, to)
                elif chance < SWAPS:
                    j = draw_partner(st, i)
                    if j < 0:
                        continue
                    move = SWAP
                    to = st.node[j]
                    _move(st, i, to)
                    _move(st, j, old)
                else:
                    to = st.choice[st.choice_first[i] + draw(st, n)]
                    if to == old:
                        continue
                    move = RELOCATION
                    _move(st, i, to)
            else:
                if not may_rotate(st, i):
                    continue
                b, j, k = draw_rotation(st, i)
                if k < 0:
                    continue
                turn_at(st, i, j, k, x)
            st.out[EVALUATIONS] += 1
            after = crowd(st)
            if after <= crowded or uniform(st) < math.exp(math.log(crowded / after) / t):
                crowded = after
                full = fullest(st)
                if full < least * (1 - 1e-9):
                    least = full
                    improved = True
                    save(st)
            elif move == ROTATION:
                turn_at(st, b, k, j, x)
            elif move == SWAP:
                _move(st, i, old)
                _move(st, j, to)
            elif move == RELOCATION:
                _move(st, i, old)
            else:
                _replace_back(st, old, to)
        if improved:
            best = max(best, exactly(st))
    return best


@jit
def exactly(st: State) -> float:
    """The value of the saved configuration; the present one stays."""
    for i in range(st.items):
        st.kept_node[i] = st.node[i]
        st.node[i] = st.best_node[i]
    for slot in range(st.slots):
        st.kept_child[slot] = st.child[slot]
        st.child[slot] = st.best_child[slot]
    v = rebuild(st)
    for i in range(st.items):
        st.node[i] = st.kept_node[i]
    for slot in range(st.slots):
        st.child[slot] = st.kept_child[slot]
    rebuild(st)
    return v
