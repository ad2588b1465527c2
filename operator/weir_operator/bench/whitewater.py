"""`weir bench whitewater-runtime`: section 6.4 of WhiteWater on real Spark, two nodes being two cores."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from weir_placement.bench.machine import described
from weir_placement.bench.page import write
from weir_placement.cost.evaluation import evaluate
from weir_placement.fragments import Knobs
from weir_placement.model.plan import Plan, QueryPlan

from weir_operator.bench import whitewater_query as query
from weir_operator.bench.paced import PacedProcess, PacedRun, PlainJob, run
from weir_operator.bench.whitewater_query import COSTS, NODES, PAPER_C1, PAPER_C2, RATE, Logs

SECONDS = 45.0
"""[s] of a run's logs."""
KNOBS = Knobs(trigger_ms=2_000, max_batches=16, heap_mb=1_024)
RUNS = 8
"""At rising rates for each plan, at most."""
ABOVE = 1.15
"""The next rate over the one that was sustained, or over what the processor's time would allow."""
NEAR = 0.95
"""A rate is sustained when so much of what was due came through: batches do not end on the second."""
WRITTEN, PAPER, FOUND = "C1: as written, one node", "C2 of the paper, two nodes", "found, two nodes"
PLANS: dict[str, Callable[[], QueryPlan]] = {
    WRITTEN: query.as_written,
    PAPER: query.of_the_paper,
    FOUND: query.headroom_plan,
}
PLAIN = {"plain Spark job, one core": 1, "plain Spark job, two cores": 2}
FIRST_PLAIN = 12_000.0
"""[rows/s of each stream] at which a plain job is tried first, for each core."""


def model(plan: QueryPlan) -> float:
    """Rows/s of each stream that the plan carries by the measured costs of `COSTS`."""
    priced = query.on(COSTS.query(plan.query), plan.nodes)
    headroom = evaluate(query.problem(priced.query), Plan((priced,))).headroom
    assert headroom is not None
    return RATE * headroom


def measure(plan: QueryPlan | int, due: float, seconds: float = SECONDS) -> PacedRun:
    """One run at `due` rows/s of each stream, of a plan or of a plain job on so many cores.

    Raises:
        OSError: a process failed; its folder is kept, and named.
    """
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as name:
        folder = Path(name)
        plain = isinstance(plan, int)
        logs = Logs.write(folder / "logs", due, seconds, "parquet" if plain else "arrow")
        inbox = folder / "inbox"
        for stream in query.STREAMS:
            (inbox / stream).mkdir(parents=True)
        try:
            if isinstance(plan, int):
                return run(logs, inbox, [PlainJob(inbox, folder, range(plan), KNOBS.heap_mb)], plan)
            specs = query.specs(plan, inbox, folder / "run", KNOBS)
            return run(logs, inbox, [PacedProcess(s, NODES.index(s.node), folder) for s in specs], 1)
        except OSError as error:
            failed = tempfile.mkdtemp(prefix="weir-failed-")
            shutil.copytree(
                folder, failed, dirs_exist_ok=True, ignore=shutil.ignore_patterns("logs", "inbox")
            )
            raise OSError(f"{error}; see {failed}") from error


def search(plan: QueryPlan | int, first: float, tell: Callable[[str], None]) -> list[PacedRun]:
    """Runs at rising rates until one is not sustained; at falling ones while none is."""
    runs: list[PacedRun] = []
    due = first
    while len(runs) < RUNS:
        last = measure(plan, due)
        runs.append(last)
        tell(f"  due {due:,.0f}: {last.rate:,.0f} rows/s of each stream, core {100 * last.full:.0f} % busy")
        if not held(last):
            if sustained(runs) is not None:
                break
            due = min(due / ABOVE, max(last.rate, due / 2))
        else:
            due = max(ABOVE * due, min(last.by_cpu, 1.5 * due))
            if any(due >= run.due for run in runs if not held(run)):
                break
    return runs


def held(run: PacedRun) -> bool:
    """Whether what was due came through."""
    return run.sustained >= NEAR * run.due


def sustained(runs: Sequence[PacedRun]) -> PacedRun | None:
    """The run at the highest rate that was held; None: none was."""
    return max((run for run in runs if held(run)), key=lambda run: run.due, default=None)


def whitewater_runtime(folder: Path) -> None:
    """Measures every plan and writes the page; about half an hour on an otherwise idle machine."""
    runs: dict[str, list[PacedRun]] = {}
    models: dict[str, float] = {}

    def tell(text: str) -> None:
        print(text, flush=True)

    for name, make in PLANS.items():
        plan = make()
        models[name] = model(plan)
        tell(f"{name}, {models[name]:,.0f} rows/s of each stream by the model")
        runs[name] = search(plan, models[name], tell)
    for name, cores in PLAIN.items():
        tell(name)
        runs[name] = search(cores, cores * FIRST_PLAIN, tell)
    page(folder, runs, models)


def page(folder: Path, runs: dict[str, list[PacedRun]], models: dict[str, float]) -> None:
    """Table, CSV and plot of what was measured."""
    best = {name: run for name, tries in runs.items() if (run := sustained(tries)) is not None}
    base = best.get(WRITTEN)
    in_paper = {WRITTEN: PAPER_C1, PAPER: PAPER_C2}
    rows = [
        (
            name,
            f"{in_paper[name]:,.0f}" if name in in_paper else "",
            round(models[name]) if name in models else "",
            round(best[name].sustained) if name in best else "no rate",
            _too_much(tries),
            f"{best[name].sustained / base.sustained:.2f}" if base and name in best else "",
            f"{100 * best[name].full:.0f} %" if name in best else "",
        )
        for name, tries in runs.items()
    ]
    for row in rows:
        print(*row, flush=True)
    write(
        folder,
        "whitewater-runtime",
        "Section 6.4 of WhiteWater on real Spark",
        f"{TEXT} {described()} PySpark {version('pyspark')}.",
        HEAD,
        rows,
        lambda axes: _bars(axes, best),
    )


def _too_much(runs: list[PacedRun]) -> int | str:
    """The lowest rate that was not sustained."""
    return min((round(run.due) for run in runs if not held(run)), default="")


def _bars(axes: Any, best: dict[str, PacedRun]) -> None:
    names = list(best)
    axes.barh(names, [best[name].sustained for name in names])
    axes.invert_yaxis()
    axes.set_xlabel("rows/s of each stream")


HEAD = (
    "plan",
    "the paper",
    "model",
    "sustained",
    "not sustained",
    "over C1",
    "fullest core",
)
TEXT = f"""
`sigma(D=0) sigma(A=0) (AB join_B (BC join_C CD))`: three streams of equal rates, windows of 5 s, selections
that let one row in {query.TIMES} through, a join on C {query.TIMES} times more selective than the one on B.
All figures are rows/s of each stream. The paper leaves out how selective the joins are; with
{query.KEYS_C:,} keys of C its own model and costs give both of its rates, so there are so many here, and
{query.KEYS_B:,} of B.

Logs grow at the pace of their event times, so windows are as full as in life and nothing runs ahead; a rate
is sustained when {100 * NEAR:.0f} % of it come through, of the slowest stream, over the second half of
{SECONDS:.0f} s. Only such a run counts. Rates go up until one is not: the limit is between the two columns.
A node is one core; each fragment is one process with a heap of {KNOBS.heap_mb} MB and a batch every
{KNOBS.trigger_ms // 1000} s; batches that take longer hold more rows and cost less a row.
C1 runs as it is written because fragments keep Spark from moving selections. `found` is what `auto`
makes of C1 with the costs of
[calibration](calibration.md); the model's rate is the plan's headroom by these costs. What the figures say:
[The model and Spark](../headroom.md#the-model-and-spark).

The plain job is the same SQL on the same rows in one Spark process: Spark's own Parquet source and optimiser,
which moves the selections to the sources by itself; shuffle partitions as many as cores. On one machine it is
the better choice: on one core it carries more than the plans on two, with one process, one reading of each
row and nothing handed on. Placing is for streams that enter at different machines, for links that cannot
carry them all, and for queries that are too large for one machine ([bench-links](bench-links.md)).
""".strip()
