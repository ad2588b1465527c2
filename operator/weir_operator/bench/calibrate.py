"""What each kind of operator costs on this machine, measured on real Spark fragments of one operator."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from weir_placement.model.operators import (
    Aggregate,
    Aggregation,
    Filter,
    Item,
    Join,
    Operator,
    Project,
    Window,
)
from weir_placement.model.problem import Overheads

from weir_operator.bench.saturation import ROWS_A_FILE, Saturated, saturate, write_log
from weir_operator.local.calibration import Calibration

FILES = 64
KEYS = 2_000
LEAST = 0.05
"""[CPU-us] A cost is not less: a difference of two measurements may come out below zero."""
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


def calibrate(tell: Callable[[str], None], files: int = FILES) -> Calibration:
    """Runs six fragments one after the other; about 20 s each, two minutes in all, on a free core.

    A fragment's cost a row is (reading + operators + handing on); a fragment with four filters less one
    with a single one gives a filter, and that less the filter gives the reading, which the others contain.
    """
    with tempfile.TemporaryDirectory(prefix="weir-calibrate-") as name:
        folder = Path(name)
        write_log(folder / "a", files, KEYS, 1)
        write_log(folder / "b", files, KEYS, 2)
        one, two = {"a": folder / "a"}, {"a": folder / "a", "b": folder / "b"}

        def run(what: str, operators: list[Operator], logs: dict[str, Path]) -> Saturated:
            saturated = saturate(what, operators, logs, folder)
            cost, rate = saturated.cpu_per_row, saturated.wall_rate
            tell(f"{what}: {cost:.2f} CPU-us a row, {rate:,.0f} rows/s in this run")
            return saturated

        single = run("filter", [filter_of(1, "a")], one).cpu_per_row
        chain = [filter_of(1, "a"), filter_of(2, "f1"), filter_of(3, "f2"), filter_of(4, "f3")]
        filters = max((run("filters", chain, one).cpu_per_row - single) / 3, LEAST)
        read = max(single - filters, LEAST)
        project = max(run("project", [PROJECT], one).cpu_per_row - read, LEAST)
        aggregate = max(run("aggregate", [AGGREGATE], one).cpu_per_row - read, LEAST)
        near = run("join", [join_of(50_000)], two)
        far = run("join-wide", [join_of(2_000_000)], two)
        more_rows = max(far.out_per_row - near.out_per_row, 1e-9)
        out = max((far.cpu_per_row - near.cpu_per_row) / more_rows, LEAST)
        join = max(near.cpu_per_row - read - out * near.out_per_row, LEAST)
        tell(f"rows read by each fragment: {files * ROWS_A_FILE:,}")
    costs = {"filter": filters, "project": project, "aggregate": aggregate, "join": join, "union": LEAST}
    overheads = Overheads(
        fragment_cpu=50_000.0, fragment_memory=FRAGMENT_MEMORY, exchange_cost=read, exchange_latency=0.5
    )
    return Calibration(costs, out, read, overheads)
