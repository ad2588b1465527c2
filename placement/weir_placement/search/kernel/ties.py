"""Among plans of equal headroom: fewer hosts (where there is an `enough`, beyond which headrooms are equal),
less network usage, fewer fragments, fewer moves (model.md section 3)."""

from __future__ import annotations

from weir_placement.search.kernel.clock import over
from weir_placement.search.kernel.entry_codes import EVALUATIONS, LATE, LISTED
from weir_placement.search.kernel.evaluator import INFINITE, place, rebuild
from weir_placement.search.kernel.jit import State, jit
from weir_placement.search.kernel.layout import SINK, SOURCE
from weir_placement.search.kernel.moves import (
    move_to,
    rotate,
    rotate_back,
    rotation_from,
    save,
    take_back,
    turn,
)
from weir_placement.search.kernel.neighbourhood import EQUAL
from weir_placement.search.kernel.node_loads import ends_fragment, first_reader

HOSTS, USAGE, FRAGMENTS, MOVES, START = range(5)
"""Words of `key`."""
EFFORT = 8_000_000
"""Nodes and items looked at while ties are broken."""
MANY = 300
"""Items from which on the value of a plan is looked at only if the rest of its key is better: that is known
from a few items, the value from all of two nodes."""
NEAR_ONLY = 64
"""Nodes from which on an operator is tried only where its inputs come from and its readers are: that is what
makes a flow or a fragment less (a third node that lies between them is left out)."""


@jit
def _usage_of(st: State, i: int) -> float:
    """Bytes in transit at x = 1 that leave item i, summed over the points."""
    if st.node[i] < 0 or st.kind[i] == SINK:
        return 0.0
    m, degree = st.items, st.degree
    seconds = 0.0
    for u in range(st.readers[i]):
        r = st.reader[i * st.uses + u]
        to = st.node[r]
        if to < 0 or to == st.node[i]:
            continue
        again = False
        for v in range(u):
            again = again or st.node[st.reader[i * st.uses + v]] == to
        if not again and first_reader(st, i, to) == r * m + i:
            seconds += st.latency_[st.node[i] * st.nodes + to]
    if seconds == 0.0:
        return 0.0
    rate = 0.0
    for s in range(st.scenarios):
        # the piece of its point that holds at x = 1
        if st.until_[s] <= 1.0 or (s > 0 and st.point[s] == st.point[s - 1] and st.until_[s - 1] > 1.0):
            continue
        for d in range(st.low[i], st.high[i] + 1):
            rate += st.rate_[(s * m + i) * degree + d]
    return rate * st.width_[i] * seconds


@jit
def _ends(st: State, i: int) -> bool:
    """Whether operator i ends a fragment wherever what is not placed yet will be."""
    if st.node[i] >= 0:
        return bool(ends_fragment(st, i))
    return bool(st.readers[i] > 1 or st.kind[st.reader[i * st.uses]] == SINK)


@jit
def _count_host(st: State, i: int, sign: float, ends: bool) -> None:
    """Operator i's part of the hosts: the first operator of its class on its node opens one."""
    shared = st.sharing[i]
    if shared < 0:
        if ends:
            st.key_[HOSTS] += sign * st.processes_[i]
        return
    if st.node[i] < 0:
        return
    at = shared * st.nodes + st.node[i]
    if sign < 0.0:
        st.opened[at] -= 1
    if st.opened[at] == 0:
        st.key_[HOSTS] += sign
    if sign > 0.0:
        st.opened[at] += 1


@jit
def _add_key(st: State, i: int, sign: float) -> None:
    """Item i's part of the rest of the key, to key[0..3]."""
    st.key_[USAGE] += sign * _usage_of(st, i) / st.points
    if st.kind[i] != SOURCE and st.kind[i] != SINK:
        ends = _ends(st, i)
        if ends:
            st.key_[FRAGMENTS] += sign
        if st.enough_[0] < INFINITE:
            _count_host(st, i, sign, ends)
        if st.node[i] >= 0 and st.node[i] != st.force[i]:
            st.key_[MOVES] += sign


@jit
def add_up_key(st: State) -> None:
    """The key of what is placed, into key[0..3]; `opened` is right for the nodes that have something."""
    for i in range(st.items):
        if st.sharing[i] >= 0 and st.node[i] >= 0:
            st.opened[st.sharing[i] * st.nodes + st.node[i]] = 0
    for k in range(4):
        st.key_[k] = 0.0
    for i in range(st.items):
        _add_key(st, i, 1.0)


@jit
def rest_of_key(st: State) -> None:
    """Hosts (where there is an `enough`), network usage (mean over the points), fragments and moves of the
    configuration, into key[0..3]; the usage also into key[4]."""
    for k in range(st.classes * st.nodes):
        st.opened[k] = 0
    add_up_key(st)
    st.key_[START] = st.key_[USAGE]


@jit
def note(st: State, i: int) -> None:
    """Item i's stream is one whose flows a move may change; `order` lists them, its number is out[LISTED]."""
    g = st.group[i]
    for k in range(st.out[LISTED]):
        if st.order[k] == g:
            return
    st.order[st.out[LISTED]] = g
    st.out[LISTED] += 1


@jit
def _around(st: State, i: int, b: int) -> None:
    """Lists the streams that leave items i and b (-1: none) and that they read."""
    st.out[LISTED] = 0
    note(st, i)
    for slot in range(st.first[i], st.first[i + 1]):
        note(st, st.child[slot])
    if b >= 0:
        for slot in range(st.first[b], st.first[b + 1]):
            note(st, st.child[slot])


@jit
def part(st: State, sign: float) -> None:
    """Adds to the key, or takes from it, what the listed streams and their items are of it."""
    for k in range(st.out[LISTED]):
        g = st.order[k]
        for e in range(st.group_first[g], st.group_first[g + 1]):
            _add_key(st, st.group_item[e], sign)


@jit
def uncount(st: State) -> None:
    """Before a move is taken back: takes what it put into `opened`."""
    if st.enough_[0] < INFINITE:
        part(st, -1.0)


@jit
def recount(st: State, hosts: float, usage: float, fragments: float, moves: float) -> None:
    """After a move was taken back: the key as it was, as sums that go up and down keep some rounding."""
    if st.enough_[0] < INFINITE:
        part(st, 1.0)
    st.key_[HOSTS], st.key_[USAGE], st.key_[FRAGMENTS], st.key_[MOVES] = hosts, usage, fragments, moves


@jit
def lower(st: State, hosts: float, usage: float, fragments: float, moves: float) -> bool:
    """Whether key[0..3] comes before another key; key[4] is the usage at the start, of which sums that go up
    and down keep some rounding."""
    if abs(st.key_[HOSTS] - hosts) > 0.5:
        return bool(st.key_[HOSTS] < hosts)
    if abs(st.key_[USAGE] - usage) > EQUAL * max(usage, max(st.key_[USAGE], st.key_[START])):
        return bool(st.key_[USAGE] < usage)
    if st.key_[FRAGMENTS] != fragments:
        return bool(st.key_[FRAGMENTS] < fragments)
    return bool(st.key_[MOVES] < moves)


@jit
def improves(
    st: State, v: float, best: float, hosts: float, usage: float, fragments: float, moves: float
) -> bool:
    """Whether key[0..3] at value v comes before the other key at value `best`. Beyond `enough` values are
    equal."""
    v, best = min(v, st.enough_[0]), min(best, st.enough_[0])
    if v < best - EQUAL * abs(best):
        return False
    if v > best + EQUAL * abs(best):
        return True
    return bool(lower(st, hosts, usage, fragments, moves))


@jit
def _useful(st: State, i: int, to: int) -> bool:
    """Whether something that item i reads, or that reads it, is on node `to`."""
    if st.nodes <= NEAR_ONLY:
        return True
    for slot in range(st.first[i], st.first[i + 1]):
        if st.node[st.child[slot]] == to:
            return True
    for u in range(st.readers[i]):
        if st.node[st.reader[i * st.uses + u]] == to:
            return True
    return False


@jit
def _try(st: State, i: int, j: int, k: int, to: int) -> float:
    """The move of item i to node `to` or, with k >= 0, the rotation of `moves.rotate`; the key goes along.
    The value, or -INFINITE when nothing was moved because the rest of the key gets no better."""
    b = st.child[st.first[i] + j] if k >= 0 else -1
    _around(st, i, b)
    if st.items > MANY:
        old = st.node[i]
        hosts, usage, fragments, moves = st.key_[HOSTS], st.key_[USAGE], st.key_[FRAGMENTS], st.key_[MOVES]
        part(st, -1.0)
        if k >= 0:
            turn(st, i, j, k)
        else:
            place(st, i, to)
        part(st, 1.0)
        better = lower(st, hosts, usage, fragments, moves)
        uncount(st)
        if k >= 0:
            turn(st, b, k, j)
        else:
            place(st, i, old)
        recount(st, hosts, usage, fragments, moves)
        if not better:
            return -INFINITE
    part(st, -1.0)
    v = rotate(st, i, j, k) if k >= 0 else move_to(st, i, to)
    part(st, 1.0)
    st.out[EVALUATIONS] += 1
    return v


@jit
def _gain(st: State, i: int, j: int, k: int, to: int, best: float) -> float:
    """The value after the move of `_try` if the key gets better by it; else -INFINITE, with nothing moved."""
    b = st.child[st.first[i] + j] if k >= 0 else -1
    old = st.node[i]
    hosts, usage, fragments, moves = st.key_[HOSTS], st.key_[USAGE], st.key_[FRAGMENTS], st.key_[MOVES]
    v = _try(st, i, j, k, to)
    if v <= -INFINITE or improves(st, v, best, hosts, usage, fragments, moves):
        return v
    uncount(st)
    if k >= 0:
        rotate_back(st, i, j, k, b)
    else:
        take_back(st, i, old)
    recount(st, hosts, usage, fragments, moves)
    return -INFINITE


@jit
def polish(st: State, rounds: int) -> float:
    """Climbs by first improvement in the lexicographic order from the present configuration; saved.

    At most EFFORT / (nodes + items on two nodes) evaluations.
    """
    until = st.out[EVALUATIONS] + EFFORT // (st.nodes + 2 * st.items // st.nodes)
    best = rebuild(st)
    rest_of_key(st)
    for _ in range(rounds):
        improved = False
        for i in range(st.items):
            if st.out[EVALUATIONS] > until or over(st):
                break
            for a in range(st.choice_first[i], st.choice_last[i]):
                to = st.choice[a]
                if to == st.node[i] or not _useful(st, i, to):
                    continue
                v = _gain(st, i, 0, -1, to, best)
                if v > -INFINITE:
                    best, improved = v, True
            j, k = rotation_from(st, i, 0)
            while k >= 0:
                v = _gain(st, i, j, k, -1, best)
                if v > -INFINITE:
                    best, improved = v, True
                j, k = rotation_from(st, i, 2 * j + k + 1)
        if not improved or st.out[EVALUATIONS] > until or st.out[LATE]:
            break
    save(st)
    return best
