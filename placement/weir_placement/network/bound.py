"""A lower bound on the network usage of any plan for several queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Ints, delivered, solve
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.single import latencies, placing, presence, sinks_of


def lower_bound(
    problem: Problem, spaces: Sequence[PlanSpace], sites: Callable[[Problem, PlanSpace], Ints]
) -> float:
    """[bytes]: no plan that admits these queries uses the network less.

    A flow counts once however many queries share it. If k (query, stream) pairs could use a stream,
    charging each of them 1/k of its rate never charges a flow more than once, so the sum of every
    query's own optimum under these charges, found by the exact program without capacities, is a
    bound. It is the optimum itself when no two queries can share a stream and no capacity binds.
    """
    users = Counter(signature for space in spaces for signature in space.signatures)
    empty = Ledger(problem)
    total = 0.0
    for space in spaces:
        among = sites(problem, space)
        share = np.array([1.0 / users[s] for s in space.signatures])
        ways = replace(space.ways, bytes_per_second=space.ways.bytes_per_second * share)
        present, _ = presence(empty, space, among, reuse=False)
        table = solve(ways, latencies(problem, among), present, placing(empty, space, among))
        position = {int(n): i for i, n in enumerate(among)}
        sinks = np.array([position[int(s)] for s in sinks_of(problem, space)], np.int64)
        total += delivered(table, sinks)[0]
    return float(total)
