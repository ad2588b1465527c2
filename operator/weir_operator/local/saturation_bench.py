"""Predicted against measured: the rate at which one core is full, for fragments that were not calibrated on.

`python -m weir_operator.local.saturation_bench [CALIBRATION]` writes docs/benchmarks/calibration.md; it
calibrates first unless it is given what `weir calibrate` wrote. The prediction is the model's CPU load of a
one-node plan with the calibrated costs; the measurement is the fragment's CPU time.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path

from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Item, Operator
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem, Query
from weir_placement.model.streams import Column, Stream

from weir_operator.local.calibrate import AGGREGATE, KEYS, calibrate, join_of
from weir_operator.local.calibration import Calibration
from weir_operator.local.saturation import Saturated, saturate, write_log

FILES = 128
RATE = 1000.0
"""[rows/s] of each source in the model (one row a millisecond, as in the log): headroom is a factor on it."""
BOUND = 0.30
SELECTIVE = Operator("s", "filter", ("a",), ("a.v",), "a.v < 0.5", selectivity=0.5)
NARROW = Operator(
    "n",
    "project",
    ("s",),
    ("a.k", "a.g", "a.v", "a.ts"),
    items=tuple(Item(c, c) for c in ("a.k", "a.g", "a.ts")),
)
LATE_FILTER = Operator("t", "filter", ("j",), ("a.v",), "a.v < 0.5", selectivity=0.5)
FRAGMENTS: dict[str, tuple[Operator, ...]] = {
    "filter-project": (SELECTIVE, NARROW),
    "join-filter": (join_of(500_000), LATE_FILTER),
    "filter-aggregate": (
        SELECTIVE,
        Operator(**{**vars(AGGREGATE), "inputs": ("s",)}),
    ),
}


def predicted(operators: tuple[Operator, ...], found: Calibration) -> float:
    """Rows/s of all sources together at which one core of this machine is full, by the model."""
    columns = (Column("k", "BIGINT", 8), Column("g", "BIGINT", 8), Column("v", "DOUBLE", 8))
    aliases = sorted({name for op in operators for name in op.inputs} & {"a", "b"})
    streams = {f"bench/{a}": Stream(f"bench/{a}", RATE, columns, ("n",), 32.0, "ts") for a in aliases}
    query = Query("bench/q", {a: f"bench/{a}" for a in aliases}, operators)
    query = found.query(query)
    ops = tuple(
        Operator(**{**vars(op), "selectivity": 1.0 / KEYS}) if op.kind == "join" else op
        for op in query.operators
    )
    query = Query(query.name, query.sources, ops)
    plan = QueryPlan(query, {op.id: "n" for op in ops}, dict.fromkeys(aliases, "n"))
    problem = Problem(Cluster((Node("n", 1.0),), Network.uniform(1)), streams, (query,))
    # A full log is read faster than it was written, but its windows hold as many rows as when it was: so the
    # CPU time a row is that of the written rate (x = 1), not that of the saturated one.
    busy = evaluate(problem, Plan((plan,))).loads["n"].cpu(1.0) / 1e6
    return RATE * len(aliases) / busy


def main() -> int:
    """Calibrates, runs the fragments, writes the table; 1 when a prediction is further off than BOUND."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    found = Calibration.load(file)
    if not found.costs:
        print("calibrating")
        found = calibrate(print)
    lines, worst = [], 0.0
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = Path(name)
        write_log(folder / "a", FILES, KEYS, 11)
        write_log(folder / "b", FILES, KEYS, 12)
        for title, operators in FRAGMENTS.items():
            aliases = sorted({n for op in operators for n in op.inputs} & {"a", "b"})
            measured = saturate(title, operators, {a: folder / a for a in aliases}, folder)
            model = predicted(operators, found)
            off = model / measured.rows_per_core - 1
            worst = max(worst, abs(off))
            lines.append(_line(title, model, measured, off))
            print(lines[-1])
    _write(lines, worst, found)
    return 0 if worst <= BOUND else 1


def _line(title: str, model: float, measured: Saturated, off: float) -> str:
    rates = f"{model:,.0f} | {measured.rows_per_core:,.0f} | {measured.wall_rate:,.0f}"
    return f"| {title} | {rates} | {100 * off:+.0f} % |"


def _write(lines: list[str], worst: float, found: Calibration) -> None:
    costs = ", ".join(f"{kind} {cost:.2f}" for kind, cost in found.costs.items())
    text = HEAD + "\n".join(lines)
    text += f"\n\nFurthest off: {100 * worst:.0f} % (at most {100 * BOUND:.0f} % wanted).\n\n"
    text += f"Calibrated [CPU-us]: {costs}, join's row out {found.out:.2f}, reading {found.read:.2f}.\n"
    text += f"Machine: {_cpu_model()}, {os.cpu_count()} cores, Python {platform.python_version()}.\n"
    path = Path("docs/benchmarks/calibration.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"written to {path}")


HEAD = """# Predicted against measured saturation

`python -m weir_operator.local.saturation_bench`: each kind of operator is calibrated alone, then fragments
of several operators run on one core over a full log. The model's rate is where it sees the core full; the
measured one is 1,000,000 over the CPU-microseconds a row once it is warm. The last rate is
what came on the wall clock: less when others share the core.

| fragment | model [rows/s a core] | measured [rows/s a core] | in this run [rows/s] | model off by |
|---|---|---|---|---|
"""


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
