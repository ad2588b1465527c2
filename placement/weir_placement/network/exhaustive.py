"""`exhaustive`: every join order on every choice of nodes, for small problems.

How many there are: Lemma 1 of [1]_.

References
----------
.. [1] Sangeetha Seshadri, Vibhore Kumar, Brian Cooper, Ling Liu, "A Distributed Stream Query Optimization
       Framework through Integrated Planning and Deployment", IEEE TPDS 20, 2009 (Hierarchical partitions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from time import perf_counter

from weir_placement.model.plan import Result
from weir_placement.model.problem import Problem
from weir_placement.network.counting import compared
from weir_placement.network.dynamic_program import Step
from weir_placement.network.ledger import Ledger
from weir_placement.network.plan_space import PlanSpace
from weir_placement.network.several import result
from weir_placement.network.single import Refusal, SinglePlacement, accept, sinks_of
from weir_placement.request import PlanRequest, not_found

LIMIT = 200_000
"""Plans a query may have."""


def plans(space: PlanSpace, stream: int, nodes: int, at: Mapping[int, list[int]]) -> Iterator[Step]:
    """Every plan tree of a stream on every choice of nodes; sources are where `at` says."""
    if stream in space.aliases:
        yield from (Step(stream, node, -1) for node in at[stream])
        return
    for way in range(int(space.ways.start[stream]), int(space.ways.start[stream + 1])):
        below = [list(plans(space, int(i), nodes, at)) for i in space.ways.inputs_of(way)]
        for inputs in product(*below):
            yield from (Step(stream, node, way, inputs) for node in range(nodes))


def count(space: PlanSpace, nodes: int, at: Mapping[int, list[int]]) -> float:
    """How many plans there are."""
    counts: list[float] = []
    for stream in range(space.ways.streams):
        if stream in space.aliases:
            counts.append(len(at[stream]))
            continue
        total = 0.0
        for way in range(int(space.ways.start[stream]), int(space.ways.start[stream + 1])):
            each = float(nodes)
            for i in space.ways.inputs_of(way):
                each *= counts[int(i)]
            total += each
        counts.append(total)
    return counts[-1]


def exhaustive(problem: Problem, request: PlanRequest) -> Result:
    """Tries every plan of each query, one query after the other; nothing is reused. The time limit ends it
    with the best plan of those tried.

    Raises:
        ValueError: a query with more plans than `LIMIT`.
    """
    nodes = len(problem.cluster)
    started = perf_counter()

    def planner(ledger: Ledger, space: PlanSpace) -> SinglePlacement | Refusal:
        index, streams = problem.cluster.index, problem.streams
        at = {
            t: [index[o] for o in streams[space.query.sources[a]].origins if o in index]
            for t, a in space.aliases.items()
        }
        many = count(space, nodes, at)
        if many > LIMIT:
            raise ValueError(
                f"query {space.query.name} has {many:.3g} plans; exhaustive tries at most {LIMIT}"
            )
        sinks = sinks_of(problem, space)
        best: SinglePlacement | None = None
        for root in plans(space, space.ways.streams - 1, nodes, at):
            compared(1)
            placement = accept(ledger, space, root, sinks)
            if isinstance(placement, SinglePlacement) and (best is None or placement.cost < best.cost):
                best = placement
            seconds = perf_counter() - started
            if seconds > request.time_limit:
                return best or Refusal(not_found(seconds))
        return best or Refusal("none of its plans fits the remaining capacity")

    return result(problem, "exhaustive", planner, request, rounds=0)
