"""An upper bound on headroom that knows links and memory: every capacity has a price.

A plan that carries x loads no capacity beyond 1. So if for some prices that add up to 1 even the cheapest
plan at x costs more than 1, none carries x. The cheapest plan at given prices is that of the program for
network usage, with prices in place of latencies, made a relaxation of all plans: every selection and
projection is done where it saves most, at the least that it can cost anywhere, and what flows may go through
other nodes. No operator is placed, and nothing flows, where it is too large alone.

Prices move by projected subgradients; x is found by bisection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.operators import Filter, Join, Operator, is_plain
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Step, delivered, solve, tree
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace, plan_spaces, rescaled
from weir_placement.network.proof_space import keeps_columns
from weir_placement.network.single import placing, presence, sinks_of
from weir_placement.search.item import HUGE

ROUNDS = 60
"""Of moving prices, at each x."""
PRECISION = 2e-3
MEMORY = 0.6
"""Part of the last direction that the next one keeps."""
GOAL = 1.02
"""The cost that a step aims at."""
WORK = 3e6
"""Inner steps of all programs of a round: beyond, there is no bound."""


def priced_bound(problem: Problem, value: float, deadline: float) -> float:
    """No plan has a greater headroom than this, or than `value`, which some plan has; 1e300 where it cannot
    say, or nothing but CPU is limited."""
    if not can_say(problem):
        return HUGE
    points = [_at_point(problem, point) for point in problem.points()]
    return min((_Bound(each).find(value, deadline) for each in points), default=HUGE)


def can_say(problem: Problem) -> bool:
    """Whether the program is a relaxation of the problem, and small enough."""
    if any(problem.raised):
        return False
    nodes, network = problem.cluster.nodes, problem.cluster.network
    limits = [limit for n in nodes for limit in (n.memory, n.egress, n.ingress)]
    if not (np.isfinite(limits).any() or np.isfinite(network.bandwidth).any()):
        return False
    if (
        problem.cluster.closed
        or problem.pinned
        or problem.forbidden
        or any(op.nodes for q in problem.queries for op in q.operators)
    ):
        return False
    for query in problem.queries:
        readers = Counter(name for op in query.operators for name in op.inputs)
        joins = {
            (op.cost, op.cost_pair, op.cost_out, op.memory, op.row_overhead)
            for op in query.operators
            if isinstance(op, Join)
        }
        if keeps_columns(query) or max(readers.values()) > 1 or len(joins) > 1:
            return False
    return True


def relaxed(problem: Problem) -> Problem:
    """The problem with selections and plain projections that cost nothing, and no limit of latency."""
    free = tuple(
        replace(
            query,
            operators=tuple(
                replace(op, cost=0.0, memory=0.0) if isinstance(op, Filter) or is_plain(op) else op
                for op in query.operators
            ),
            max_latency=inf,
        )
        for query in problem.queries
    )
    return replace(problem, queries=free, in_force=())


def _at_point(problem: Problem, rates: Mapping[str, float]) -> Problem:
    streams = {name: replace(stream, rate=rates[name]) for name, stream in problem.streams.items()}
    return replace(problem, streams=streams, profile=())


@dataclass(frozen=True)
class _PricedQuery:
    """A query's program at one x."""

    space: PlanSpace
    place: Floats
    present: Floats
    sinks: Ints


class _Bound:
    """For one point of the profile."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.relaxed = relaxed(problem)
        self.spaces = list(plan_spaces(self.relaxed, self.relaxed.queries).values())
        self.users = Counter(name for query in problem.queries for name in query.sources.values())
        nodes, self.count = problem.cluster.nodes, len(problem.cluster)
        link = np.array(problem.cluster.network.bandwidth_matrix, float)
        np.fill_diagonal(link, np.inf)
        room = [[getattr(n, kind) for n in nodes] for kind in ("cpu_capacity", "memory", "egress", "ingress")]
        self.room = np.concatenate([np.array(room).ravel(), link.ravel()])
        self.limited = np.isfinite(self.room) & (self.room > 0)
        self.price = self.limited / max(self.limited.sum(), 1)

    def find(self, value: float, deadline: float) -> float:
        """By bisection; on the safe side when the time is over."""
        work = sum(s.ways.ways * self.count + s.ways.streams * self.count**2 for s in self.spaces)
        if work > WORK or any(space.draft.written_order for space in self.spaces):
            return HUGE
        if self._impossible(value * (1 + 1e-6)):
            return value
        low, high = value, 1.5 * value
        while not self._impossible(high):
            low, high = high, 2.0 * high
            if high > 1e6 * value or perf_counter() > deadline:
                return HUGE
        while high > low * (1 + PRECISION) and perf_counter() < deadline:
            middle = (low * high) ** 0.5
            if self._impossible(middle):
                high = middle
            else:
                low = middle
        return high

    def _impossible(self, x: float) -> bool:
        """Whether prices are found at which every plan costs too much at x."""
        streams = {name: replace(s, rate=x * s.rate) for name, s in self.relaxed.streams.items()}
        problem = replace(self.relaxed, streams=streams)
        ledger, every = Ledger(problem), np.arange(self.count)
        limit = ledger.limit(every)
        widest = None if limit is None else _widest(limit)
        programs = [
            _PricedQuery(
                self._shared(space),
                placing(ledger, space, every),
                presence(ledger, space, every, reuse=False)[0],
                sinks_of(problem, space),
            )
            for space in rescaled(problem, self.spaces)
        ]
        least = sum(
            least_filtering(one.space, query.operators)
            for one, query in zip(programs, self.problem.queries, strict=True)
        )
        direction = np.zeros_like(self.price)
        for _ in range(ROUNDS):
            cost, load = self._cheapest(programs, widest, least)
            if cost > 1 + 1e-9:
                return True
            slope = np.divide(load, self.room, out=np.zeros_like(load), where=self.limited)
            direction = MEMORY * direction + np.where(self.limited, slope - cost, 0.0)
            length = float(direction @ direction)
            if length < 1e-18:
                break
            self.price = _onto_simplex(self.price + (GOAL - cost) / length * direction, self.limited)
        return False

    def _shared(self, space: PlanSpace) -> PlanSpace:
        """Several readers of a source on one node get it once: each pays a part of its flow."""
        carried = space.ways.bytes_per_second.copy()
        for t, alias in space.aliases.items():
            carried[t] /= self.users[space.query.sources[alias]]
        return replace(space, ways=replace(space.ways, bytes_per_second=carried))

    def _cheapest(
        self, programs: list[_PricedQuery], widest: Floats | None, least: float
    ) -> tuple[float, Floats]:
        """The cost of the cheapest plans at the present prices, and their loads."""
        count = self.count
        unit = np.divide(self.price, self.room, out=np.zeros_like(self.price), where=self.limited)
        cpu, memory, egress, ingress = unit[: 4 * count].reshape(4, count)
        toll = egress[:, None] + ingress + unit[4 * count :].reshape(count, count)
        np.fill_diagonal(toll, 0.0)
        toll, step_to = _paths(toll)
        load = np.zeros_like(self.price)
        cost = least * float(cpu.min())
        load[int(np.argmin(cpu))] += least
        for one in programs:
            ways = one.space.ways
            place = one.place + ways.cpu[:, None] * cpu + ways.memory[:, None] * memory
            table = solve(ways, toll, one.present, place, widest)
            more, node, sink = delivered(table, one.sinks)
            if not np.isfinite(more):
                return np.inf, load
            cost += more
            root = tree(table, ways, ways.streams - 1, node)
            self._add(load, one.space, root, sink, step_to)
        return cost, load

    def _add(self, load: Floats, space: PlanSpace, root: Step, sink: int, step_to: Ints) -> None:
        count, ways = self.count, space.ways
        hops = [(below, step.node) for step in steps(root) for below in step.inputs]
        for step in steps(root):
            if step.way >= 0:
                load[step.node] += ways.cpu[step.way]
                load[count + step.node] += ways.memory[step.way]
        for below, to in [*hops, *([(root, sink)] if sink >= 0 else [])]:
            a, carried = below.node, ways.bytes_per_second[below.stream]
            while a != to:
                b = int(step_to[a, to])
                load[[2 * count + a, 3 * count + b, 4 * count + a * count + b]] += carried
                a = b


def least_filtering(space: PlanSpace, operators: Sequence[Operator]) -> float:
    """[CPU-us/s]: what selections cost at least, each after all others and on the set that leaves least."""
    under = space.draft.under
    if under is None or space.query.fixed_order:
        return 0.0
    rates = space.ways.bytes_per_second / space.draft.widths
    aliases, least = list(space.query.sources), 0.0
    for op in operators:
        if isinstance(op, Filter) and op.cost > 0:
            own = [aliases.index(a) for a in {c.split(".")[0] for c in op.columns} if a in aliases]
            over = (under[:, own] > 0).all(axis=1)
            least += op.cost * float(rates[over].min()) / max(op.selectivity, 1e-12)
    return least


def _widest(limit: Floats) -> Floats:
    """The widest flow that some path takes."""
    widest = limit.copy()
    np.fill_diagonal(widest, np.inf)
    for k in range(len(widest)):
        widest = np.maximum(widest, np.minimum(widest[:, k : k + 1], widest[k : k + 1]))
    return widest


def _paths(toll: Floats) -> tuple[Floats, Ints]:
    """The cheapest tolls over all paths, and the first step of each."""
    cost, step_to = toll.copy(), np.tile(np.arange(len(toll)), (len(toll), 1))
    for k in range(len(cost)):
        over = cost[:, k : k + 1] + cost[k : k + 1]
        better = over < cost * (1 - 1e-12) - 1e-300
        cost = np.where(better, over, cost)
        step_to = np.where(better, step_to[:, k : k + 1], step_to)
    return cost, step_to


def _onto_simplex(price: Floats, limited: np.ndarray) -> Floats:
    """The nearest prices that are not negative and add up to 1; 0 where nothing is limited."""
    at = price[limited]
    falling = np.sort(at)[::-1]
    above = np.cumsum(falling) - 1.0
    last = int(np.flatnonzero(falling - above / np.arange(1, len(at) + 1) > 0)[-1])
    result = np.zeros_like(price)
    result[limited] = np.maximum(at - above[last] / (last + 1), 0.0)
    return result
