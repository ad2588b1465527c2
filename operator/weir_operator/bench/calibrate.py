"""What rows, batches and processes cost on this machine: fragments of one operator on Spark (`batches`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from weir_placement.model.operators import (
    Aggregate,
    Aggregation,
    Filter,
    Item,
    Join,
    Operator,
    Project,
    Union,
    Window,
)
from weir_placement.model.plan import QueryPlan
from weir_placement.model.problem import Overheads

from weir_operator.bench.batches import (
    RATE,
    BatchCost,
    alternating,
    fitted,
    idle,
    observe,
    plan_of,
    write_logs,
)
from weir_operator.local.calibration import Calibration

KEYS = 2_000
NEAR, FAR = 50_000, 2_000_000
"""[us] Reaches of two joins that differ in what leaves them."""
LEAST = 0.05
"""[CPU-us] A cost is not less: a difference of two measurements may come out below zero."""
BATCH_RATE = 0.5
"""[batches/s] on a full node: there a batch takes longer than the trigger, and holds more rows."""
FRAGMENT_MEMORY = 700e6
"""[bytes] A JVM with a heap of 512 MB, its Python workers beside it."""


def filter_of(number: int, above: str) -> Operator:
    """A filter that lets every row through."""
    return Filter(f"f{number}", (above,), ("a.v",), f"a.v >= -{number}", selectivity=1.0)


def join_of(reach: int) -> Operator:
    """An equality join within `reach` [us] of event time."""
    windows = (Window("a", "b", -reach, reach),)
    return Join("j", ("a", "b"), ("a.k", "b.k"), on="a.k = b.k", windows=windows)


AGGREGATE = Aggregate(
    "g",
    ("a",),
    ("a.g", "a.v", "a.ts"),
    items=(Item("g", "a.g"),),
    time="a.ts",
    window=10.0,
    slide=10.0,
    aggregations=(Aggregation("n", "count", None), Aggregation("total", "sum", "a.v")),
    groups=50.0,
)
PROJECT = Project("p", ("a",), ("a.k", "a.ts"), items=(Item("a.k", "a.k"), Item("a.ts", "a.ts")))
BRANCHES = tuple(
    Project(f"p{a}", (a,), (f"{a}.k", f"{a}.ts"), items=(Item("k", f"{a}.k"), Item("ts", f"{a}.ts")))
    for a in "ab"
)
CHAIN = [filter_of(1, "a"), *(filter_of(n, f"f{n - 1}") for n in (2, 3, 4))]
PLANS: Mapping[str, QueryPlan] = {
    "join-wide": plan_of("join-wide", [join_of(FAR)]),
    "join": plan_of("join", [join_of(NEAR)]),
    "union": plan_of("union", [*BRANCHES, Union("u", tuple(op.id for op in BRANCHES))]),
    "flow": plan_of("flow", CHAIN[:2], {"f2": "n2"}),
    "filters": plan_of("filters", CHAIN),
    "aggregate": plan_of("aggregate", [AGGREGATE]),
    "filter": plan_of("filter", CHAIN[:1]),
    "project": plan_of("project", [PROJECT]),
}
"""What is run: the longest ones first, as each core takes the next."""


def calibrate(tell: Callable[[str], None]) -> Calibration:
    """Runs the fragments of `PLANS`, as many at a time as there are cores, and fits what they took; about a
    minute on two free cores. All is CPU time: other work makes it longer, and the figures little worse."""
    cores = sorted(os.sched_getaffinity(0))[: len(PLANS)]
    taken: dict[str, list[BatchCost]] = {}
    with tempfile.TemporaryDirectory(prefix="weir-calibrate-") as name:
        folder = Path(name)
        logs = write_logs(folder / "logs", alternating(), KEYS)

        def run(number: int, what: str) -> None:
            own = [cores[number % len(cores)], cores[(number + 1) % len(cores)]]
            taken[what] = [fitted(each) for each in observe(PLANS[what], logs, folder, own)]
            tell(
                f"{what}: "
                + "; ".join(f"{c.row:.2f} CPU-us a row, {c.batch:,.0f} a batch" for c in taken[what])
            )

        with ThreadPoolExecutor(len(cores)) as pool:
            list(pool.map(run, range(len(PLANS)), PLANS))
        standing = idle(PLANS["filter"], folder, cores[0])
        tell(f"a process without rows: {standing:,.0f} CPU-us a second")
    return fit_costs(taken, standing)


def fit_costs(taken: Mapping[str, Sequence[BatchCost]], standing: float) -> Calibration:
    """The model's costs, from what the fragments of `PLANS` took and a process takes without rows [CPU-us/s].

    A row costs reading, operators and handing on; a fragment with four filters less one with a single one
    gives a filter, and that less the filter the reading, which the others contain. Its batch costs that of a
    process, of each input, and of each input of operators that keep rows, by least squares over all of them.
    """
    single, chain, narrow, grouped, near, far, together = (
        taken[name][0] for name in ("filter", "filters", "project", "aggregate", "join", "join-wide", "union")
    )
    writer, reader = taken["flow"]
    filters = max((chain.row - single.row) / 3, LEAST)
    read = max(single.row - filters, LEAST)
    project = max(narrow.row - read, LEAST)
    pairs_near, pairs_far = (2e-6 * reach * RATE / KEYS for reach in (NEAR, FAR))  # for a row of each stream
    out = max((far.row - near.row) / (pairs_far - pairs_near), LEAST)
    costs = {
        "filter": filters,
        "project": project,
        "aggregate": max(grouped.row - read, LEAST),
        "join": max((near.row - out * pairs_near) / 2 - read, LEAST),
        "union": max(together.row / 2 - read - project, LEAST),
    }
    parts = [(c, 1, 0) for c in (single, chain, narrow, writer, reader)]
    parts += [(grouped, 1, 1), (together, 2, 0), (near, 2, 2), (far, 2, 2)]
    counts = np.array([[1.0, inputs, kept] for _, inputs, kept in parts])
    batch, each_input, state = np.linalg.lstsq(counts, np.array([c.batch for c, _, _ in parts]))[0].clip(0.0)
    overheads = Overheads(
        fragment_cpu=standing,
        fragment_memory=FRAGMENT_MEMORY,
        exchange_cost=max((writer.row + reader.row - 2 * filters - read) / 2, LEAST),
        exchange_latency=0.5,
        batch_cost=float(batch),
        input_batch_cost=float(each_input),
        state_batch_cost=float(state),
        batch_rate=BATCH_RATE,
    )
    return Calibration(costs, out, read, overheads)
