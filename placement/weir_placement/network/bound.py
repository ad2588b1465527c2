"""A lower bound on the network usage of any plan for several queries.

A plan counts a flow once however many queries read it, and an operator's load too. The bound relaxes
just that, and the capacities: every flow's charge is shared out among the queries that could use it,
every capacity has a price. Then each query is planned alone, exactly, at its shares and prices; the
sum of these optima, less what the capacities are worth, is a bound for any shares that add up to at
most 1 and any prices that are not negative (Lagrangean multipliers). Shares move to the queries that
use a flow, prices rise where a capacity is exceeded, by Polyak's step towards the best plan known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.model.problem import Problem
from weir_placement.network.ascent import ascent_of
from weir_placement.network.cells import Cells, cells_of
from weir_placement.network.dynamic_program import CostTable, Step, delivered, solve, tree
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.shares import Shares
from weir_placement.network.single import placing, presence, sinks_of
from weir_placement.network.sites import named_nodes

ROUNDS = 100
"""Of moving shares and prices."""

STEPS = 3e8
"""Of the programs in all rounds, about a second."""

OTHERS = 12
"""Places of its last operator that are noted of each query."""

PATIENCE = 5
"""Rounds without a better bound after which steps are shortened."""


def lower_bound(
    problem: Problem,
    spaces: Sequence[PlanSpace],
    value: float = np.inf,
    deadline: float = np.inf,
    rounds: int = ROUNDS,
) -> float:
    """[bytes]: no plan that admits these queries uses the network less.

    At first every flow is shared evenly by the queries that could use its stream; that is the optimum
    itself when no two queries can share a stream and no capacity binds. `value` is the best plan
    known, without which nothing moves. Stops at `deadline`.
    """
    ascent = ascent_of(problem, spaces) if value < np.inf else None
    if ascent is None:
        return Relaxation(problem, spaces).bound(value, deadline, rounds)
    ascent.run(value, deadline)
    if not limited(problem):
        return min(ascent.bound, value)
    return max(min(ascent.bound, value), Relaxation(problem, spaces).bound(value, deadline, rounds))


def limited(problem: Problem) -> bool:
    """Whether some capacity is finite."""
    limits = [(n.cpu_capacity, n.memory, n.egress, n.ingress) for n in problem.cluster.nodes]
    return bool(np.isfinite(limits).any() or np.isfinite(problem.cluster.network.bandwidth).any())


@dataclass
class _Query:
    """One query's program over cells, its own ends added as single nodes."""

    space: PlanSpace
    sites: Ints  # the cell of each site
    latency: Floats
    present: Floats
    place: Floats
    sinks: Ints
    share: Floats  # of each stream while nothing has moved
    loads: dict[str, Floats]  # CPU and memory of each way, at its share


class _Prices:
    """A price for each capacity that is finite, in bytes of network usage for the whole of it."""

    def __init__(self, cells: Cells) -> None:
        machines = cells.problem.cluster.nodes
        network = cells.problem.cluster.network
        self.room = {
            "cpu": cells.total(np.array([n.cpu_capacity for n in machines])),
            "memory": cells.total(np.array([n.memory for n in machines])),
            "egress": cells.total(np.array([n.egress for n in machines])),
            "ingress": cells.total(np.array([n.ingress for n in machines])),
        }
        if np.isfinite(network.bandwidth).any() and cells.nodes:
            self.room["link"] = network.bandwidth_matrix
        self.price = {kind: np.zeros(room.shape) for kind, room in self.room.items()}
        self.load = {kind: np.zeros(room.shape) for kind, room in self.room.items()}

    def worth(self) -> float:
        """What all capacities cost at their prices."""
        return float(sum(price.sum() for price in self.price.values()))

    def each(self, kind: str) -> Floats:
        """The price of a unit of load."""
        room = self.room[kind]
        return np.divide(
            self.price[kind], room, out=np.zeros(room.shape), where=np.isfinite(room) & (room > 0)
        )

    def slopes(self) -> dict[str, Floats]:
        """By how much loads exceed capacities, as a part of them; 0 where a price stays 0."""
        slope_of = {}
        for kind, room in self.room.items():
            limited = np.isfinite(room) & (room > 0)
            over = np.divide(self.load[kind], room, out=np.ones(room.shape), where=limited) - 1.0
            slope_of[kind] = np.where(limited & ((over > 0) | (self.price[kind] > 0)), over, 0.0)
        return slope_of


class Relaxation:
    """The queries' programs with their shares and prices.

    `candidates[q]` are the plans (tree over nodes, sink) that query q had at some round; none where cells are
    more than a node.
    """

    def __init__(self, problem: Problem, spaces: Sequence[PlanSpace]) -> None:
        self.cells = cells_of(problem, sum(space.ways.streams for space in spaces))
        self.prices = _Prices(self.cells)
        cells = len(self.cells.size)
        self.ends = [[] if self.cells.nodes else sorted(named_nodes(problem, space)) for space in spaces]
        inside: list[dict[int, list[int]]] = []
        for ends in self.ends:
            inside.append({})
            for n, end in enumerate(ends):
                inside[-1].setdefault(int(self.cells.of[end]), []).append(cells + n)
        self.shares = Shares(spaces, self.cells.latency, inside)
        self.candidates: list[dict[tuple[Step, int], None]] = [{} for _ in spaces]
        empty = Ledger(problem)
        self.queries = [
            self._query(empty, space, share, ends)
            for space, share, ends in zip(spaces, self.shares.even, self.ends, strict=True)
        ]

    def _query(self, empty: Ledger, space: PlanSpace, share: Floats, ends: list[int]) -> _Query:
        problem, cells = self.cells.problem, self.cells
        of_way = np.repeat(share, np.diff(space.ways.start))
        loads = {"cpu": space.ways.cpu * of_way, "memory": space.ways.memory * of_way}
        if cells.nodes:
            every = np.arange(len(cells.of))
            present, _ = presence(empty, space, every, reuse=False)
            place = placing(empty, space, every)
            return _Query(space, every, cells.latency, present, place, sinks_of(problem, space), share, loads)
        sites = np.concatenate([np.arange(len(cells.size)), cells.of[ends]])
        position = {node: len(cells.size) + i for i, node in enumerate(ends)}
        present = np.full((space.ways.streams, len(sites)), np.inf)
        for stream, alias in space.aliases.items():
            for origin in problem.streams[space.query.sources[alias]].origins:
                if origin in problem.cluster.index:
                    present[stream, position[problem.cluster.index[origin]]] = 0.0
        fits = np.ones((space.ways.ways, len(cells.size)), bool)
        for load, free in ((space.ways.cpu, empty.cpu), (space.ways.memory, empty.memory)):
            fits &= load[:, None] <= cells.most(free) * (1 + 1e-9)
        place = np.where(fits[:, sites], 0.0, np.inf)
        sinks = np.array([position[int(s)] for s in sinks_of(problem, space)], np.int64)
        return _Query(space, sites, cells.with_ends(ends), present, place, sinks, share, loads)

    @property
    def rounds(self) -> int:
        """As many as the work allows: a number that does not depend on the machine."""
        sites = len(self.queries[0].sites)
        steps_ = sum(query.space.ways.streams for query in self.queries) * sites * sites
        return int(min(max(STEPS / max(steps_, 1), 5), ROUNDS))

    @property
    def binding(self) -> bool:
        """Whether some capacity has got a price."""
        return self.prices.worth() > 0.0

    def bound(self, value: float, deadline: float, rounds: int) -> float:
        """The best bound of so many rounds."""
        best, reach, since = 0.0, 1.0, 0
        for _ in range(rounds):
            total = self._round(deadline)
            since = 0 if total > best * (1 + 1e-4) else since + 1
            best = max(best, total)
            if not best < value * (1 - 1e-9) or not value < np.inf or perf_counter() > deadline:
                break
            if since >= PATIENCE:
                reach, since = 0.5 * reach, 0
            slopes = self.prices.slopes()
            length = sum(float((slope * slope).sum()) for slope in slopes.values())
            length += self.shares.directions()
            if length <= 1e-12:
                break
            step = reach * (value - total) / length
            for kind, slope in slopes.items():
                self.prices.price[kind] = np.maximum(self.prices.price[kind] + step * slope, 0.0)
            self.shares.move(step)
        return float(best)

    def _round(self, deadline: float) -> float:
        """Plans every query: the bound. Cut short by the deadline it is one too: no query costs less
        than nothing."""
        prices = self.prices
        total = -prices.worth()
        unit = {kind: prices.each(kind) for kind in prices.price}
        priced = {kind: bool(price.any()) for kind, price in prices.price.items()}
        for load in prices.load.values():
            load[...] = 0.0
        for q, query in enumerate(self.queries):
            if perf_counter() > deadline:
                break
            ways, place, latency = query.space.ways, query.place, query.latency
            for kind in ("cpu", "memory"):
                if priced[kind]:
                    place = place + query.loads[kind][:, None] * unit[kind][query.sites]
            if priced["egress"] or priced["ingress"] or priced.get("link"):
                latency = latency + self._tolls(query, unit)
            weight = ways.bytes_per_second * query.share
            table = solve(ways, latency, query.present, place, weight=weight, charges=self.shares.charges(q))
            cost, node, sink = delivered(table, query.sinks)
            if np.isfinite(cost):
                total += cost
                self._count(q, query, tree(table, ways, ways.streams - 1, node), sink)
                self._note_others(q, query, table, sink)
        return total

    def _note_others(self, q: int, query: _Query, table: CostTable, sink: int) -> None:
        """In the first round, the cheapest plans whose last operator is on another node."""
        if not self.cells.nodes or len(self.candidates[q]) > 1:
            return
        last = query.space.ways.streams - 1
        cost = table.produced[last]
        if sink >= 0:
            cost = cost + query.space.ways.bytes_per_second[last] * query.latency[:, sink]
        for node in np.argsort(cost, kind="stable")[:OTHERS].tolist():
            if np.isfinite(cost[node]):
                self.candidates[q][tree(table, query.space.ways, last, node), sink] = None

    def _tolls(self, query: _Query, unit: dict[str, Floats]) -> Floats:
        """Shape (sites, sites): the prices of a byte/s between cells."""
        cell = query.sites
        tolls = unit["egress"][cell][:, None] + unit["ingress"][cell]
        if "link" in unit:
            tolls = tolls + unit["link"][np.ix_(cell, cell)]
        return np.where(cell[:, None] == cell, 0.0, tolls)

    def _count(self, q: int, query: _Query, root: Step, sink: int) -> None:
        """Adds the loads of a query's plan, each at the query's share, and notes its flows."""
        load, cell = self.prices.load, query.sites
        if self.cells.nodes:
            self.candidates[q][root, sink] = None
        hops = [(below, step.node) for step in steps(root) for below in step.inputs]
        if sink >= 0:
            hops.append((root, sink))
        for step in steps(root):
            if step.way >= 0:
                for kind in ("cpu", "memory"):
                    load[kind][cell[step.node]] += query.loads[kind][step.way]
        for below, to in hops:
            a, b = int(cell[below.node]), int(cell[to])
            if a == b:
                continue
            t = below.stream
            rate = float(query.space.ways.bytes_per_second[t]) * self.shares.use(q, t, a, b)
            load["egress"][a] += rate
            load["ingress"][b] += rate
            if "link" in load:
                load["link"][a, b] += rate
