"""Random small problems with every kind of constraint that the compiled evaluator knows."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf

from weir_placement.model.operators import Aggregate, Operator
from weir_placement.model.problem import Overheads, Placed, Problem

from tests.cost.example import cluster, filter_, join, problem, project, stream


def random_problem(seed: int, operators: int = 6, nodes: int = 3, *, limits: bool = True) -> Problem:
    """Up to three streams, filters, projections, joins, an aggregate at the top now and then."""
    r = random.Random(seed)
    count = r.randint(1, nodes)
    bounds: dict[str, float] = {}
    if limits and r.random() < 0.5:
        bounds.update(egress=r.uniform(1e3, 1e5), ingress=r.uniform(1e3, 1e5))
    if limits and r.random() < 0.5:
        bounds.update(memory=r.uniform(2e3, 1e6))
    bandwidth = r.choice([inf, 1e4]) if limits else inf
    machines = cluster([r.choice([0.5, 1, 2]) for _ in range(count)], 0.06, bandwidth, **bounds)
    names = [n.name for n in machines.nodes]
    streams = [
        stream(c, r.uniform(1, 100), *r.sample(names, r.randint(1, count)), columns=("k", "l"))
        for c in "abc"[: r.randint(1, 3)]
    ]
    tops = [s.name[-1] for s in streams]
    below = {t: [t] for t in tops}
    operators_: list[Operator] = []
    while len(tops) > 1 or len(operators_) < r.randint(1, operators):
        name = f"o{len(operators_)}"
        if len(tops) > 1 and (r.random() < 0.5 or len(operators_) > operators):
            a, b = r.sample(tops, 2)
            tops = [t for t in tops if t not in (a, b)]
            on = f"{r.choice(below[a])}.k", f"{r.choice(below[b])}.k"
            operators_.append(join(name, a, b, *on, r.choice([0.001, 0.1])))
            below[name] = below[a] + below[b]
        else:
            a = tops.pop(r.randrange(len(tops)))
            below[name] = below[a]
            if r.random() < 0.7:
                operators_.append(filter_(name, a, f"{r.choice(below[a])}.k", r.choice([0.01, 0.5, 0.9]), 20))
            else:
                operators_.append(project(name, a, [f"{x}.k" for x in below[a]]))
        tops.append(name)
    if r.random() < 0.2:
        operators_.append(
            Aggregate(
                "agg", (tops[0],), window=10.0, slide=5.0, groups=50, cost=5.0, memory=r.choice([9.0, 90.0])
            )
        )
        operators_.append(replace(filter_("last", "agg", "n", 0.5, 500), columns=()))
    overheads = Overheads(r.choice([0, 100.0]), r.choice([0, 50.0]), r.choice([0, 5.0]), r.choice([0, 0.1]))
    batches = {name: r.choice([0, 70.0]) for name in ("batch_cost", "input_batch_cost", "state_batch_cost")}
    overheads = replace(overheads, **batches, batch_rate=r.choice([0.5, 1.0]))
    p = problem(
        machines,
        streams,
        operators_,
        deliver_to=r.choice([(), tuple(names[:1])]),
        max_latency=r.choice([inf, 0.3]) if limits else inf,
        overheads=overheads if limits else Overheads(),
        profile=r.choice([(), ({"default/a": 5.0}, {"default/a": 50.0})]),
    )
    p = replace(p, queries=tuple(replace(q, processes=r.choice([1, 3])) for q in p.queries))
    force = tuple(Placed("default/q", o.id, r.choice(names)) for o in operators_)
    return replace(p, in_force=force)
