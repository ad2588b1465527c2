"""Predicted against measured: the rate at which one core is full, for fragments that were not calibrated on.

The prediction is the model's CPU load of a one-node plan with the calibrated costs; the measurements are the
fragment's CPU time a row and the rows that really come through when more wait than it can take.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Filter, Item, Join, Operator, Project
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream

from weir_operator.bench.calibrate import AGGREGATE, KEYS, calibrate, join_of
from weir_operator.bench.saturation import ROWS_A_FILE, saturate, write_log
from weir_operator.local.calibration import Calibration

FILES = 64
RATE = 1000.0
"""[rows/s] of each source in the model (one row a millisecond, as in the log): headroom is a factor on it."""
BOUND = 30.0
"""[%]"""
SELECTIVE = Filter("s", ("a",), ("a.v",), "a.v < 0.5", selectivity=0.5)
NARROW = Project(
    "n",
    ("s",),
    ("a.k", "a.g", "a.v", "a.ts"),
    items=tuple(Item(c, c) for c in ("a.k", "a.g", "a.ts")),
)
LATE_FILTER = Filter("t", ("j",), ("a.v",), "a.v < 0.5", selectivity=0.5)
FRAGMENTS: dict[str, tuple[Operator, ...]] = {
    "filter-project": (SELECTIVE, NARROW),
    "join-filter": (join_of(500_000), LATE_FILTER),
    "filter-aggregate": (SELECTIVE, replace(AGGREGATE, inputs=("s",))),
    "join-aggregate": (join_of(500_000), replace(AGGREGATE, inputs=("j",))),
}


def predicted(operators: tuple[Operator, ...], calibrated: Calibration) -> float:
    """Rows/s of all sources together at which one core of this machine is full, by the model."""
    columns = (Column("k", "BIGINT", 8), Column("g", "BIGINT", 8), Column("v", "DOUBLE", 8))
    aliases = sorted({name for op in operators for name in op.inputs} & {"a", "b"})
    streams = {f"bench/{a}": Stream(f"bench/{a}", RATE, columns, ("n",), 32.0, "ts") for a in aliases}
    query = Query("bench/q", {a: f"bench/{a}" for a in aliases}, operators)
    query = calibrated.query(query)
    ops = tuple(replace(op, selectivity=1.0 / KEYS) if isinstance(op, Join) else op for op in query.operators)
    query = Query(query.name, query.sources, ops)
    plan = QueryPlan(query, {op.id: "n" for op in ops}, dict.fromkeys(aliases, "n"))
    problem = Problem(Cluster((Node("n", 1.0),), Network.uniform(1)), streams, (query,))
    # A full log is read faster than it was written, but its windows hold as many rows as when it was: so the
    # CPU time a row is that of the written rate (x = 1), not that of the saturated one.
    busy = evaluate(problem, Plan((plan,))).loads["n"].cpu(1.0) / 1e6
    return RATE * len(aliases) / busy


def calibration(folder: Path) -> None:
    """`weir bench calibration`: calibrates, runs the fragments, writes the page; about four minutes."""
    calibrated = calibrate(lambda text: print(text, flush=True))
    rows: list[tuple[str | float, ...]] = []
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        logs = Path(name)
        for seed, alias in enumerate("ab", 11):
            write_log(logs / alias, FILES, KEYS, seed)
        for title, operators in FRAGMENTS.items():
            aliases = sorted({n for op in operators for n in op.inputs} & {"a", "b"})
            measured = saturate(title, operators, {a: logs / a for a in aliases}, logs)
            model = predicted(operators, calibrated)
            off = [100 * (model / rate - 1) for rate in (measured.rows_per_core, measured.wall_rate)]
            rows.append(
                (
                    title,
                    *(round(rate) for rate in (model, measured.rows_per_core, measured.wall_rate)),
                    *(f"{o:+.0f} %" for o in off),
                )
            )
            print(*rows[-1], flush=True)
    worst = max(abs(float(str(row[4]).split()[0])) for row in rows)
    costs = ", ".join(f"{kind} {cost:.2f}" for kind, cost in calibrated.costs.items())
    text = (
        f"{TEXT}\n\nFurthest off: {worst:.0f} %; at most {BOUND:.0f} % is wanted.\n\n"
        f"Calibrated [CPU-us a row]: {costs}, join's row out {calibrated.out:.2f}, "
        f"reading {calibrated.read:.2f}; "
        f"{FILES * ROWS_A_FILE:,} rows a source. Machine: {described()}"
    )
    write(
        folder,
        "calibration",
        "Predicted against measured saturation",
        text,
        HEAD,
        rows,
        lambda a: _bars(a, rows),
    )


def _bars(axes: Any, rows: list[tuple[str | float, ...]]) -> None:
    for place, label in enumerate(("model", "measured, by CPU time", "measured, by the clock")):
        at = [i + 0.27 * (place - 1) for i in range(len(rows))]
        axes.bar(at, [float(row[1 + place]) for row in rows], 0.25, label=label)
    axes.set_xticks(range(len(rows)), [str(row[0]) for row in rows])
    axes.set_ylabel("rows/s of all sources on one core")
    axes.legend()


HEAD = (
    "fragment",
    "model [rows/s]",
    "by CPU time [rows/s]",
    "by the clock [rows/s]",
    "model off by (CPU time)",
    "model off by (clock)",
)
TEXT = """
Each kind of operator is calibrated alone (`weir calibrate`), then fragments of several operators, which were
not calibrated on, read a full log on one core. The model's rate is where it sees the core full. By CPU time:
1,000,000 over the CPU-microseconds a row of the warm fragment. By the clock: what came through in a second.
Both are the better quartile of spans of the run, because others may share the machine.
""".strip()
