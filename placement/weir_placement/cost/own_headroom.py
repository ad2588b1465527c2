"""Each query's own headroom: how far its streams may grow while the others stay at the profile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import inf

from weir_placement.cost.constraint import Constraint
from weir_placement.cost.evaluation import latencies_at
from weir_placement.cost.flows import scaled
from weir_placement.cost.load import Load
from weir_placement.cost.node_loads import constraints_at, loads_at
from weir_placement.model.plan import Plan
from weir_placement.model.problem import Problem


def query_headrooms(problem: Problem, plan: Plan) -> dict[str, float | None]:
    """By query; None: nothing limits it.

    Only queries that read one of its streams change with it. So their loads are worked out anew, and
    all the rest is one number for each constraint: the whole's load less theirs. O(sum over queries
    of the queries that share a stream with them), where one evaluation each would be O(queries^2): that is
    what it takes where latencies have limits.
    """
    readers: dict[str, list[int]] = defaultdict(list)
    for n, placed in enumerate(plan.queries):
        for stream in set(placed.query.sources.values()):
            readers[stream].append(n)
    lowest = {placed.query.name: inf for placed in plan.queries}
    limited = any(placed.query.max_latency < inf for placed in plan.queries)
    for k, point in enumerate(problem.points()):
        still = scaled(point, frozenset())
        whole = {c.name: c for c in constraints_at(problem, loads_at(problem, plan, still), k)}
        over = {name for name, c in whole.items() if c.root < 0}
        for placed in plan.queries:
            streams = frozenset(placed.query.sources.values())
            near = Plan(tuple(plan.queries[n] for n in sorted({n for s in streams for n in readers[s]})))
            before = constraints_at(problem, loads_at(problem, near, still), k)
            after = constraints_at(problem, loads_at(problem, near, scaled(point, streams)), k)
            touched: dict[str, float] = {}
            for was, now in zip(before, after, strict=True):
                touched[was.name] = _beside(now, whole[was.name].load(1.0) - was.load(1.0)).root
            if limited:
                loads = loads_at(problem, plan, scaled(point, streams))
                touched |= {c.name: c.root for c in latencies_at(problem, plan, loads, k)}
            if over - set(touched):
                touched[""] = -1.0
            lowest[placed.query.name] = min([lowest[placed.query.name], *touched.values()])
    return {name: None if x == inf else max(x, 0.0) for name, x in lowest.items()}


def _beside(constraint: Constraint, rest: float) -> Constraint:
    """The constraint with a load that does not grow beside its own."""
    assert isinstance(constraint.load, Load)
    return replace(constraint, load=constraint.load + Load.of(max(rest, 0.0)))
