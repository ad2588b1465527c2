"""Predicted against measured: the rate at which a core is full, for plans that the fit of costs never saw."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.cost.evaluation import evaluate
from weir_placement.model.cluster import Cluster, Network, Node
from weir_placement.model.operators import Aggregate, Filter, Item, Join, Operator, Project, Union
from weir_placement.model.plan import Plan, QueryPlan
from weir_placement.model.problem import Problem
from weir_placement.rewrite.function_costs import with_functions

from weir_operator.bench.batches import (
    BLOCK,
    RATE,
    TURNS,
    cost_of_batch,
    observe,
    plan_of,
    streams_of,
    write_logs,
)
from weir_operator.bench.calibrate import AGGREGATE, BRANCHES, KEYS, PROJECT, calibrate, join_of
from weir_operator.local.calibration import Calibration

SEED = 9
"""Of the plans: others than those that `calibrate` runs, with figures of their own."""
BOUND = 25.0
"""[%] that the model may be off."""
APART = 15.0
"""[%] Two plans that differ by more than this must be in the right order."""
BATCHES = 2 * BLOCK * TURNS
ROWS = (600.0, 12_000.0)
"""Of a stream in a batch: from, to."""


@dataclass(frozen=True)
class Drawn:
    """A plan of a shape, and how many rows of each stream a batch has."""

    shape: str
    plan: QueryPlan
    rows: int


def drawn(seed: int = SEED) -> list[Drawn]:
    """Eight plans, each of another shape, with selectivities, windows, groups and batches by the seed."""
    chance = Random(seed)
    plans: list[Drawn] = []
    for shape, make in SHAPES.items():
        operators, nodes = make(chance)
        rows = round(exp(chance.uniform(*map(log, ROWS))))
        plans.append(Drawn(shape, plan_of(f"drawn-{len(plans)}", operators, nodes), rows))
    return plans


Made = tuple[list[Operator], dict[str, str]]


def _filter(name: str, above: str, alias: str, chance: Random) -> Filter:
    share = round(chance.uniform(0.1, 0.9), 2)
    return Filter(name, (above,), (f"{alias}.v",), f"{alias}.v < {share}", selectivity=share)


def _join(chance: Random, left: str = "a", right: str = "b") -> Join:
    joined = join_of(round(chance.uniform(0.1, 1.5) * 1e6))
    assert isinstance(joined, Join)
    return replace(joined, inputs=(left, right), selectivity=1.0 / KEYS)


def _grouped(above: str, chance: Random) -> Aggregate:
    length = chance.choice([5.0, 10.0, 20.0])
    return replace(AGGREGATE, inputs=(above,), window=length, slide=length / chance.choice([1, 2]))


def _computing(chance: Random) -> Made:
    text = chance.choice(["md5(CAST(a.v AS STRING))", "upper(md5(CAST(a.k AS STRING)))"])
    items = (Item("h", text), Item("ts", "a.ts"))
    project = Project("p", ("s",), ("a.k", "a.ts", "a.v"), items=items)
    return [_filter("s", "a", "a", chance), with_functions(project)], {}


def _filters(chance: Random) -> Made:
    first = _filter("s", "a", "a", chance)
    second = Filter("t", ("s",), ("a.g",), "a.g < 25", selectivity=0.5)
    return [first, second, replace(PROJECT, inputs=("t",))], {}


SHAPES: dict[str, Callable[[Random], Made]] = {
    "filter, projection that computes": _computing,
    "two filters, projection": _filters,
    "filter, aggregate": lambda c: ([_filter("s", "a", "a", c), _grouped("s", c)], {}),
    "join, filter": lambda c: ([_join(c), _filter("s", "j", "a", c)], {}),
    "filters, join": lambda c: (
        [_filter("s", "a", "a", c), _filter("t", "b", "b", c), _join(c, "s", "t")],
        {},
    ),
    "join, aggregate": lambda c: ([_join(c), _grouped("j", c)], {}),
    "union of filters": lambda c: (
        [
            *(_filter(f"s{a}", a, a, c) for a in "ab"),
            *(replace(p, inputs=(f"s{a}",)) for p, a in zip(BRANCHES, "ab", strict=True)),
            Union("u", tuple(p.id for p in BRANCHES)),
        ],
        {},
    ),
    "filter, flow, join": lambda c: ([_filter("s", "a", "a", c), _join(c, "s")], {"j": "n2"}),
}


def predicted(one: Drawn, calibrated: Calibration) -> float:
    """Rows/s of each stream at which the fullest of the plan's cores is full, by the model.

    A full log is read faster than it was written, but its windows hold as many rows as when it was: so the
    CPU time a row is that of the written rate (x = 1), not that of the saturated one. No second passes idle.
    """
    priced = calibrated.query(one.plan.query)
    overheads = replace(calibrated.overheads, fragment_cpu=0.0, batch_rate=RATE / one.rows)
    aliases = sorted(priced.sources)
    cluster = Cluster((Node("n1", 1.0), Node("n2", 1.0)), Network.uniform(2))
    problem = Problem(cluster, streams_of(aliases), (priced,), overheads=overheads)
    loads = evaluate(problem, Plan((replace(one.plan, query=priced),))).loads
    return 1e6 * RATE / max(load.cpu(1.0) for load in loads.values())


def measured(one: Drawn, folder: Path, cores: Sequence[int]) -> float:
    """The same by Spark: CPU time of a batch of the fragment that takes most, over the rows of a stream."""
    logs = write_logs(folder / f"{one.plan.query.name}-logs", [one.rows] * BATCHES, KEYS)
    return 1e6 * one.rows / max(cost_of_batch(each) for each in observe(one.plan, logs, folder, cores))


def in_order(pairs: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Of (model, Spark): pairs that differ on Spark by more than `APART`; how many the model has in order."""
    factor = 1 + APART / 100
    apart = [(a, b) for a, b in combinations(pairs, 2) if max(a[1], b[1]) > factor * min(a[1], b[1])]
    return len(apart), sum((a[0] > b[0]) == (a[1] > b[1]) for a, b in apart)


def calibration(folder: Path) -> None:
    """`weir bench calibration`: calibrates, runs the plans, writes the page; about three minutes."""
    calibrated = calibrate(lambda text: print(text, flush=True))
    plans, cores = drawn(), sorted(os.sched_getaffinity(0))
    at = [cores[n % len(cores) :] + cores[: n % len(cores)] for n in range(len(plans))]
    with (
        tempfile.TemporaryDirectory(prefix="weir-bench-") as name,
        ThreadPoolExecutor(len(cores)) as pool,
    ):
        took = list(pool.map(lambda one, own: measured(one, Path(name), own), plans, at))
    pairs = [(predicted(one, calibrated), rate) for one, rate in zip(plans, took, strict=True)]
    page(folder, calibrated, plans, pairs)


def page(
    folder: Path, calibrated: Calibration, plans: Sequence[Drawn], pairs: Sequence[tuple[float, float]]
) -> None:
    """Table, CSV and plot."""
    rows = [
        (one.shape, one.rows, round(model), round(spark), f"{100 * (model / spark - 1):+.0f} %")
        for one, (model, spark) in zip(plans, pairs, strict=True)
    ]
    worst = max(abs(100 * (model / spark - 1)) for model, spark in pairs)
    within = sum(abs(100 * (model / spark - 1)) <= BOUND for model, spark in pairs)
    apart, right = in_order(pairs)
    each = ", ".join(f"{kind} {cost:.2f}" for kind, cost in calibrated.costs.items())
    o = calibrated.overheads
    text = (
        f"{TEXT}\n\nFurthest off: {worst:.0f} %; {within} of {len(pairs)} within the {BOUND:.0f} % that are "
        f"wanted. Of {apart} pairs of plans that differ by more than {APART:.0f} % the model has {right} in "
        f"the right order; all are wanted.\n\nCalibrated [CPU-us a row]: {each}, join's row out "
        f"{calibrated.out:.2f}, reading {calibrated.read:.2f}, each end of a flow {o.exchange_cost:.2f}. "
        f"[CPU-us a batch]: process {o.batch_cost:,.0f}, each input {o.input_batch_cost:,.0f}, each input of "
        f"a join or aggregate {o.state_batch_cost:,.0f}. [CPU-us a second]: process {o.fragment_cpu:,.0f}. "
        f"Plans: seed {SEED}. Machine: {described()}"
    )
    title = "Predicted against measured saturation"
    write(folder, "calibration", title, text, HEAD, rows, lambda axes: _bars(axes, rows))


def _bars(axes: Any, rows: Sequence[Sequence[str | float]]) -> None:
    for place, label in enumerate(("model", "Spark, by CPU time")):
        at = [i + 0.4 * (place - 0.5) for i in range(len(rows))]
        axes.barh(at, [float(row[2 + place]) for row in rows], 0.36, label=label)
    axes.set_yticks(range(len(rows)), [str(row[0]) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("rows/s of each stream that fill a core")
    axes.legend()


HEAD = ("plan", "rows of a stream in a batch", "model [rows/s]", "Spark [rows/s]", "model off by")
TEXT = """
`weir calibrate` fits what a row, a batch and a process cost from fragments with one kind of operator each.
Here are plans of other shapes, with selectivities, windows and batches drawn by a seed, and the rate that
fills a core with them: by the model, and by the CPU time that Spark's processes took for a batch of a full
log (the median, once code is warm). CPU time, because others may share the machine; what they cost in cache
and clock is in both figures, as far as it does not change between the runs.
""".strip()
