"""A lower bound on the network usage of any plan for several queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Floats, Ints, Step, Ways, delivered, solve, tree
from weir_placement.network.ledger import Ledger, steps
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import latencies, placing, presence, sinks_of

ROUNDS = 40
"""Of Lagrangean prices."""


@dataclass(frozen=True)
class _Relaxed:
    """One query's program with every stream's charge shared among all that could use it."""

    ways: Ways
    sites: Ints
    latency: Floats
    present: Floats
    place: Floats
    sinks: Ints

    def best(self, prices: Floats) -> tuple[float, Step | None]:
        """The cheapest priced plan, over sites; None when there is none."""
        place = self.place + self.ways.cpu[:, None] * prices[self.sites][None, :]
        table = solve(self.ways, self.latency, self.present, place)
        cost, node, _ = delivered(table, self.sinks)
        if not np.isfinite(cost):
            return cost, None
        return cost, tree(table, self.ways, self.ways.streams - 1, node)


def lower_bound(
    problem: Problem,
    spaces: Sequence[PlanSpace],
    sites: Callable[[Problem, PlanSpace], Ints],
    value: float = np.inf,
    deadline: float = np.inf,
) -> float:
    """[bytes]: no plan that admits these queries uses the network less.

    A flow counts once however many queries share it. If k (query, stream) pairs could use a stream,
    charging each of them 1/k of its rate (and of its CPU) never charges a flow more than once, so the
    sum of every query's own optimum under these charges, found by the exact program, is a bound. It
    is the optimum itself when no two queries can share a stream and no capacity binds.

    Where that relaxation overloads nodes, prices on their CPU (Lagrangean multipliers, moved by
    Polyak's step towards `value`, the best plan known) raise it: the priced optimum less what the
    capacities are worth at these prices is a bound at any prices. Stops at `deadline`.
    """
    users = Counter(signature for space in spaces for signature in space.signatures)
    empty = Ledger(problem)
    relaxed = [_relax(problem, empty, space, sites(problem, space), users) for space in spaces]
    capacity = np.array([node.cpu_capacity for node in problem.cluster.nodes])
    limited = np.isfinite(capacity)
    prices = np.zeros(len(capacity))
    best, reach = 0.0, 1.0
    for _ in range(ROUNDS):
        load = np.zeros(len(capacity))
        total = -float(prices[limited] @ capacity[limited])
        for query in relaxed:
            cost, root = query.best(prices)
            total += cost
            for step in steps(root) if root is not None else ():
                if step.way >= 0:
                    load[query.sites[step.node]] += query.ways.cpu[step.way]
        reach = reach if total > best else 0.8 * reach
        best = max(best, total)
        over = np.where(limited, load - np.where(limited, capacity, 0.0), 0.0)
        slope = np.where((prices > 0) | (over > 0), over, 0.0)
        length = float(slope @ slope)
        if length == 0.0 or not total < value < np.inf or perf_counter() > deadline:
            break
        prices = np.maximum(prices + slope * reach * (value - total) / length, 0.0)
    return float(best)


def _relax(problem: Problem, empty: Ledger, space: PlanSpace, among: Ints, users: Counter[str]) -> _Relaxed:
    share = np.array([1.0 / users[s] for s in space.signatures])
    ways = replace(
        space.ways,
        bytes_per_second=space.ways.bytes_per_second * share,
        cpu=space.ways.cpu * np.repeat(share, np.diff(space.ways.start)),
    )
    present, _ = presence(empty, space, among, reuse=False)
    position = {int(n): i for i, n in enumerate(among)}
    sinks = np.array([position[int(s)] for s in sinks_of(problem, space)], np.int64)
    place = placing(empty, space, among)
    return _Relaxed(ways, among, latencies(problem, among), present, place, sinks)
