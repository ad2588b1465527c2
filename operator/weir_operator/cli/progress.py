"""What `weir run` shows while queries run: rates, lag and headroom by query, and where fragments are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from weir_operator.cli.columns import RowCells, TableColumn, table
from weir_operator.cli.table import times
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import FragmentMetrics, ObservedState
from weir_operator.controller.record import Record, read_record
from weir_operator.controller.statistics import measured_by_fragment

QUERIES = (
    TableColumn("QUERY"),
    TableColumn("ROWS/S IN", number=True),
    TableColumn("ROWS/S OUT", number=True),
    TableColumn("LAG", number=True),
    TableColumn("BACKLOG", number=True, leaves=1),
    TableColumn("HEADROOM", number=True),
)
FRAGMENTS = (
    TableColumn("FRAGMENT"),
    TableColumn("NODE"),
    TableColumn("EPOCH", number=True, leaves=1),
    TableColumn("STATE"),
)
LEGEND = """LAG: time since the last batch was published; BACKLOG: batches waiting to be read
EPOCH: rises with every move; HEADROOM: how many times the measured rates the plan carries"""


@contextmanager
def live_table(console: Console) -> Iterator[Live]:
    """A table that is drawn again and again, below what is printed. What is piped has its last state alone,
    whose last line rich does not end."""
    try:
        with Live(console=console, refresh_per_second=2) as live:
            yield live
    finally:
        if not console.is_terminal:
            console.line()


def progress(loop: Loop, width: int) -> Group:
    """A line for each query and one for each of its fragments' processes, from the last round."""
    observed = loop.observed
    if observed is None:
        return Group()
    records = [read_record(o) for o in observed.objects if o["kind"] == "Placement"]
    running = [record for record in records if record.plan is not None]
    queries = [_query(loop, observed, record) for record in running]
    fragments = [row for record in running for row in _fragments(observed, record)]
    return Group(
        table(QUERIES, queries, width), "", table(FRAGMENTS, fragments, width), Text(LEGEND, style="dim")
    )


def _query(loop: Loop, observed: ObservedState, record: Record) -> RowCells:
    assert record.plan is not None
    names = _names(record)
    rates = measured_by_fragment(observed.previous_metrics, observed.metrics)
    rows_in: dict[str, float] = {}
    rows_out = 0.0
    for name in names:
        if name in rates:
            for alias in record.plan.query.sources:
                rows_in[alias] = max(rows_in.get(alias, 0.0), rates[name].rows_in.get(alias, 0.0))
            rows_out = rates[name].rows_out.get(record.plan.query.operators[-1].id, rows_out)
    metrics = [observed.metrics[name] for name in names if name in observed.metrics]
    headroom = loop.last.explain.get(record.query, {}).get("headroom")
    return (
        record.query,
        f"{sum(rows_in.values()):,.0f}",
        f"{rows_out:,.0f}",
        _lag(metrics),
        f"{sum(m.backlog for m in metrics):.0f}",
        "-" if headroom is None else times(headroom),
    )


def _lag(metrics: list[FragmentMetrics]) -> str:
    published = [m.published for m in metrics if m.published]
    return f"{max(0.0, time.time() - min(published)):.1f} s" if published else "-"


def _fragments(observed: ObservedState, record: Record) -> Iterator[RowCells]:
    processes = sorted(observed.processes, key=lambda process: process.epoch)
    for name in _names(record):
        for process in processes:
            if process.fragment == name:
                yield name.rsplit("-", 1)[0], process.node, str(process.epoch), process.state


def _names(record: Record) -> list[str]:
    return [entry["name"] for entry in record.status.get("running") or []]
