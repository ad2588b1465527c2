"""A query with a hot join, planned with clones by key on two nodes, and cut as the controller cuts it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from weir_placement.fragments import Ends, Layout, cut
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.fragment import FragmentSpec, Input
from weir_placement.model.operators import Filter, Join, Window
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream
from weir_placement.strategies import STRATEGIES

from tests.runtime.support import COLUMNS as ROW
from tests.runtime.support import files_output, source, write_log

SECOND = 1_000_000
COLUMNS = ("a.k", "a.v", "a.ts", "b.v", "b.ts")
KEYS = 12
JOIN = Join(
    "j",
    ("a", "b"),
    ("a.k", "b.k"),
    on="a.k = b.k",
    windows=(Window("a", "b", -2 * SECOND, 2 * SECOND),),
    selectivity=1 / KEYS,
    cost=500.0,
)
FILTER = Filter("f", ("j",), ("b.v",), "b.v > 1", selectivity=0.8, cost=1.0)
OPERATORS = (JOIN, FILTER)


def logs(root: Path) -> list[Input]:
    """Two logs of 400 rows: few keys and none, ties, out of order within a second."""
    chance = random.Random(4)
    inputs = []
    for alias in "ab":
        rows = [
            (chance.choice([None, *range(KEYS)]), chance.randrange(10), n * 50_000 + chance.randrange(SECOND))
            for n in range(400)
        ]
        folder = write_log(root / alias, [rows[n : n + 40] for n in range(0, 400, 40)])
        inputs.append(source(alias, folder, delay=SECOND))
    return inputs


def fragments(root: Path, sources: list[Input]) -> tuple[FragmentSpec, ...]:
    """Of the plan that `auto` finds when it may clone: one clone of the join on each node."""
    columns = tuple(Column(c.name, c.type, 8.0) for c in ROW)
    streams = {
        f"default/{item.name}": Stream(
            f"default/{item.name}", 20.0, columns, ("n1",), 24.0, "ts", item.delay / SECOND
        )
        for item in sources
    }
    query = Query("default/q", {item.name: f"default/{item.name}" for item in sources}, OPERATORS)
    problem = Problem(Cluster((Node("n1", 1.0), Node("n2", 1.0)), Network.uniform(2)), streams, (query,))
    result = STRATEGIES["auto"].plan(
        problem, objective="headroom", seed=1, time_limit=10.0, options={"clones": "2"}
    )
    (plan,) = result.plan.queries
    clones = [plan.nodes[op.id] for op in plan.query.operators if isinstance(op, Join)]
    assert sorted(clones) == ["n1", "n2"]
    ends = Ends({item.name: item.source for item in sources}, files_output(root / "out", *COLUMNS))
    layout = Layout(str(root))
    stamped = [layout.stamp(s, 1, s.node, False) for s in cut(plan, streams, ends, layout)]
    return tuple(replace(spec, trigger_ms=50) for spec in stamped)
