"""Small problems, and the plain enumeration that is the oracle of the searches."""

from collections.abc import Iterator
from itertools import product

import numpy as np
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.network.dynamic_program import Step
from weir_placement.network.plan_space import PlanSpace, plan_space
from weir_placement.network.single import SinglePlacement, query_plan
from weir_placement.network.workload import random_problem


def small_problem(
    seed: int, nodes: int = 4, width: int = 3, queries: int = 1, streams: int = 4, **more
) -> Problem:
    random = np.random.default_rng(seed)
    latency = random.uniform(0.001, 0.1, (nodes, nodes))  # asymmetric, and no metric
    np.fill_diagonal(latency, 0.0)
    return random_problem(latency, streams=streams, queries=queries, width=width, seed=seed, **more)


def trees(space: PlanSpace, stream: int, nodes: int, origins: dict[int, list[int]]) -> Iterator[Step]:
    """Every plan tree of a stream, on every choice of nodes."""
    if stream in space.aliases:
        yield from (Step(stream, node, -1) for node in origins[stream])
        return
    for way in range(space.ways.start[stream], space.ways.start[stream + 1]):
        below = [list(trees(space, int(i), nodes, origins)) for i in space.ways.inputs_of(way)]
        for inputs in product(*below):
            for node in range(nodes):
                yield Step(stream, node, way, tuple(inputs))


def every_plan(problem: Problem, query_index: int = 0) -> Iterator[QueryPlan]:
    """Every join order on every choice of nodes."""
    space = plan_space(problem, problem.queries[query_index])
    index = problem.cluster.index
    origins = {
        t: [index[o] for o in problem.streams[space.query.sources[a]].origins]
        for t, a in space.aliases.items()
    }
    sinks = [index[n] for n in space.query.deliver_to] or [-1]
    for root in trees(space, space.ways.streams - 1, len(problem.cluster), origins):
        for sink in sinks:
            yield query_plan(problem, SinglePlacement(space, root, sink, 0.0))


def cheapest(problem: Problem) -> float:
    """Network usage of the best plan of the only query, by trying all with the cost model itself."""
    return min(evaluate(problem, Plan((p,))).network_usage for p in every_plan(problem))
