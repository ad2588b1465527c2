"""A joint bound where queries share streams, and plans that go with it: who pays for which flow, by ascent.

As in `bound`, every flow is charged to the queries that could use it in shares that add up to its cost, and
the sum of what each query costs alone is a bound. Here a sweep finds for every query and flow how much dearer
the query's best plan with that flow is than its best plan: its slack. A query that leaves a flow alone can
give away a part of its slack without becoming cheaper; what all give goes to those with the least slack. So a
sweep hardly ever lowers the bound, and it moves all shares at once, where a subgradient moves those of the
plans that it meets: 15 sweeps reach what 600 rounds do not.

Slacks are exact: the program over (stream, node) run forwards and then backwards. Everything is dense, so
this is for as many shared streams and nodes as memory holds. Capacities are left out, which keeps the bound
valid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.problem import Problem
from weir_placement.network import cells
from weir_placement.network.dynamic_program import Charges, Step, Ways, delivered, solve, tree
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import latencies, placing, presence, sinks_of

MOST = 12_000_000
"""Shares at most: of each shared stream of each query, from every node to every node."""
STEPS = 4e9
"""Of all sweeps, about ten seconds."""
SWEEPS, FEWEST = 60, 5
FIRST, FIRST_PART, PART = 20, 1 / 6, 1 / 4
"""The part of its slack that a query gives in the first sweeps and in later ones. A plan has up to two flows
for each stream it reads, but seldom several with slack, so that it may be more than one in so many."""
FAR = 4.0
"""Times what a query cost in the last sweep: plans beyond that are not looked at."""
SHARP = 0.005
"""Of a query's mean cost: with so much more slack a query gets 1/e of what another one gets."""
PATIENCE = 5
"""Sweeps that do not raise the bound after which it ends."""


@dataclass(frozen=True)
class _Payer:
    """A query that pays for flows: its program.

    Attributes:
        seat: shape (T,), the row of shares of each stream, -1 where they do not move; `single`: it is the
            only one, as the stream enters at one node. Else there is one for each node that it leaves.
        weight: shape (T,) [bytes/s], the part of each stream that the query pays where shares do not move.
    """

    ways: Ways
    seat: Ints
    single: Ints
    weight: Floats
    present: Floats
    place: Floats
    sinks: Ints


class Ascent:
    """The shares of all flows, and the best bound so far."""

    def __init__(self, problem: Problem, spaces: Sequence[PlanSpace], *, derived: bool = True) -> None:
        """`derived`: shares of streams move that queries make; else of those alone that enter at one node."""
        every, empty = np.arange(len(problem.cluster)), Ledger(problem)
        self.latency = latencies(problem, every)
        self.users: list[tuple[Ints, int]] = []
        streams = _users(spaces)
        seats = [np.full(space.ways.streams, -1, np.int64) for space in spaces]
        singles = [np.zeros(space.ways.streams, np.int64) for space in spaces]
        weights = [space.ways.bytes_per_second.copy() for space in spaces]
        rows = 0
        for users in streams:
            for q, t in users:
                weights[q][t] /= len(users)
            single = _enters_once(problem, spaces, users)
            if len(users) > 1 and (derived or single):
                length = 1 if single else len(every)
                self.users.append((rows + length * np.arange(len(users)), length))
                for n, (q, t) in enumerate(users):
                    seats[q][t], singles[q][t] = rows + n * length, single
                rows += len(users) * length
        self.share = np.zeros((rows, len(every)))
        self.slack = np.zeros_like(self.share)
        self.queries = [
            _Payer(
                space.ways,
                seat,
                single,
                weight,
                presence(empty, space, every, reuse=False)[0],
                placing(empty, space, every),
                sinks_of(problem, space),
            )
            for space, seat, single, weight in zip(spaces, seats, singles, weights, strict=True)
        ]
        for query in self.queries:
            for stream, first in enumerate(query.seat.tolist()):
                if first >= 0:
                    from_ = np.flatnonzero(query.present[stream] == 0.0) if query.single[stream] else every
                    self.share[first : first + len(from_)] = query.weight[stream] * self.latency[from_]
        self.bound = 0.0
        self.optima = np.full(len(spaces), np.inf)

    def run(self, value: float, deadline: float) -> None:
        """Sweeps until the bound is at `value`, rises no more, or the work or the time is used up."""
        steps = sum(q.ways.streams for q in self.queries) * self.latency.size * 2
        sweeps, since = int(min(max(STEPS / steps, FEWEST), SWEEPS)), 0
        for sweep in range(sweeps):
            if perf_counter() > deadline:
                break
            total = self._sweep()
            since = 0 if total > self.bound * (1 + 1e-4) else since + 1
            self.bound = max(self.bound, total)
            if since > PATIENCE or self.bound >= value * (1 - 1e-9) or total <= 0.0:
                break
            sharp = SHARP * total / len(self.queries)
            part = FIRST_PART if sweep < FIRST else PART
            for users, length in self.users:
                _compiled(_pass_on)(self.share, self.slack, users, length, part, sharp)

    def _sweep(self) -> float:
        """What the queries cost alone at the present shares; their slacks."""
        for q, query in enumerate(self.queries):
            far = FAR * self.optima[q] if self.optima[q] > 0.0 else np.inf
            self.optima[q] = self._plan(query, far)
            if self.optima[q] > far:
                self.optima[q] = self._plan(query, np.inf)
        return float(self.optima[np.isfinite(self.optima)].sum())

    def _plan(self, query: _Payer, far: float) -> float:
        ways = query.ways
        return float(
            _compiled(_slacks)(
                self.latency, query.weight, ways.start, ways.input_start, ways.inputs, query.seat,
                query.single, self.share, query.present, query.place, query.sinks, far, self.slack,
            )
        )  # fmt: skip

    def plans(self) -> list[tuple[Step, int]]:
        """Each query's best plan (its tree and its sink) at the present shares."""
        nodes = np.arange(len(self.latency))
        result = []
        for query in self.queries:
            start, source, target, weight = [0], [], [], []
            for t in range(query.ways.streams):
                from_ = nodes[:0]
                if query.seat[t] >= 0:
                    from_ = nodes[query.present[t] == 0.0] if query.single[t] else nodes
                first = query.seat[t]
                price, seconds = self.share[first : first + len(from_)], self.latency[from_]
                weight.append(np.divide(price, seconds, out=np.zeros_like(price), where=seconds > 0).ravel())
                source.append(np.repeat(from_, len(nodes)))
                target.append(np.tile(nodes, len(from_)))
                start.append(start[-1] + len(source[-1]))
            charges = Charges(np.array(start), *(np.concatenate(each) for each in (source, target, weight)))
            table = solve(
                query.ways, self.latency, query.present, query.place, weight=query.weight, charges=charges
            )
            _, node, sink = delivered(table, query.sinks)
            result.append((tree(table, query.ways, query.ways.streams - 1, node), sink))
        return result


def ascent_of(problem: Problem, spaces: Sequence[PlanSpace]) -> Ascent | None:
    """None where nothing is shared, or there is too much for it. Where there are too many shares of streams
    that queries make, these stay even."""
    nodes = len(problem.cluster)
    groups = [users for users in _users(spaces) if len(users) > 1]
    if not groups or nodes > cells.MOST:
        return None
    sizes = [len(users) * nodes * (1 if _enters_once(problem, spaces, users) else nodes) for users in groups]
    derived = sum(sizes) <= MOST
    least = sum(size for size, users in zip(sizes, groups, strict=True) if size == len(users) * nodes)
    return Ascent(problem, spaces, derived=derived) if derived or 0 < least <= MOST else None


def _users(spaces: Sequence[PlanSpace]) -> list[list[tuple[int, int]]]:
    """By stream: the queries that could use it, each with its index there."""
    users: dict[str, list[tuple[int, int]]] = {}
    for q, space in enumerate(spaces):
        for t, signature in enumerate(space.signatures):
            users.setdefault(signature, []).append((q, t))
    return list(users.values())


def _enters_once(problem: Problem, spaces: Sequence[PlanSpace], users: list[tuple[int, int]]) -> bool:
    """Whether the stream is a source with one origin."""
    q, t = users[0]
    space = spaces[q]
    return t in space.aliases and len(problem.streams[space.query.sources[space.aliases[t]]].origins) == 1


@lru_cache(maxsize=2)
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    from numba import njit

    compiled: Callable[..., Any] = njit(cache=True)(function)
    return compiled


def _slacks(  # type: ignore[no-untyped-def]  # pragma: no cover
    latency, rate, start, input_start, inputs, seat, single, share, present, place, sinks, far, slack
):
    """Plans that cost more than `far` are looked at no further: a flow of theirs has at least that slack."""
    streams, nodes = present.shape
    produced, available = present.copy(), np.empty((streams, nodes))
    for t in range(streams):
        for w in range(start[t], start[t + 1]):
            for n in range(nodes):
                cost = place[w, n]
                for k in range(input_start[w], input_start[w + 1]):
                    cost += available[inputs[k], n]
                produced[t, n] = min(produced[t, n], cost)
        available[t] = produced[t]
        for m in range(nodes):
            if produced[t, m] == np.inf or produced[t, m] > far:
                continue
            row = seat[t] if single[t] else seat[t] + m
            for n in range(nodes):
                flow = share[row, n] if seat[t] >= 0 else rate[t] * latency[m, n]
                available[t, n] = min(available[t, n], produced[t, m] + flow)
    last = streams - 1
    # what the rest costs, given a stream at a node: `beyond` where it is made, `there` from anywhere
    beyond, there = np.full((streams, nodes), np.inf), np.full((streams, nodes), np.inf)
    optimum = np.inf
    if len(sinks) == 0:
        optimum = produced[last].min()
        beyond[last] = 0.0
    for s in sinks:
        optimum = min(optimum, available[last, s])
        there[last, s] = 0.0
    most = far if optimum < np.inf else np.inf
    for t in range(streams - 1, -1, -1):
        for m in range(nodes):
            if produced[t, m] == np.inf or produced[t, m] > far:
                continue
            beyond[t, m] = min(beyond[t, m], there[t, m])
            row = seat[t] if single[t] else seat[t] + m
            for n in range(nodes):
                flow = share[row, n] if seat[t] >= 0 else rate[t] * latency[m, n]
                beyond[t, m] = min(beyond[t, m], flow + there[t, n])
        for w in range(start[t], start[t + 1]):
            for k in range(input_start[w], input_start[w + 1]):
                for n in range(nodes):
                    rest = beyond[t, n] + place[w, n]
                    for other in range(input_start[w], input_start[w + 1]):
                        if other != k:
                            rest += available[inputs[other], n]
                    there[inputs[k], n] = min(there[inputs[k], n], rest)
    for t in range(streams):
        if seat[t] < 0:
            continue
        for m in range(nodes):
            if single[t] and present[t, m] > 0.0:
                continue
            row = seat[t] if single[t] else seat[t] + m
            for n in range(nodes):
                whole = min(produced[t, m] + share[row, n] + there[t, n], most)
                slack[row, n] = max(whole - optimum, 0.0) if optimum < np.inf else np.inf
    return optimum


def _pass_on(share, slack, users, length, part, sharp):  # type: ignore[no-untyped-def]  # pragma: no cover
    nodes = share.shape[1]
    weight = np.empty(len(users))
    for a in range(length):
        for b in range(nodes):
            least = np.inf
            for u in users:
                least = min(least, slack[u + a, b])
            if least == np.inf:
                continue
            pool, total = 0.0, 0.0
            for i, u in enumerate(users):
                gift = min(share[u + a, b], part * slack[u + a, b])
                share[u + a, b] -= gift
                pool += gift
                weight[i] = np.exp(-(slack[u + a, b] - least) / sharp)
                total += weight[i]
            for i, u in enumerate(users):
                share[u + a, b] += pool * weight[i] / total
