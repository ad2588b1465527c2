"""What `weir run` shows while queries run: rate, lag and headroom by query, and where fragments are."""

from __future__ import annotations

import time
from collections import defaultdict

from rich.table import Table

from weir_operator.controller.loop import Loop
from weir_operator.controller.record import read_record
from weir_operator.controller.statistics import measured_by_fragment


def progress(loop: Loop) -> Table:
    """One line for each query, from the last round."""
    table = Table(expand=False, title_justify="left")
    for name in ("query", "rows in/s", "rows out/s", "lag s", "backlog", "headroom", "fragments"):
        table.add_column(name, justify="left" if name in ("query", "fragments") else "right")
    snapshot = loop.snapshot
    if snapshot is None:
        return table
    records = [read_record(o) for o in snapshot.objects if o["kind"] == "Placement"]
    rates = measured_by_fragment(snapshot.previous_metrics, snapshot.metrics)
    live = defaultdict(list)
    for process in snapshot.processes:
        live[process.fragment].append(process)
    for record in records:
        if record.plan is None:
            continue
        fragments = [entry["name"] for entry in record.status.get("running") or []]
        rows_in: dict[str, float] = {}
        rows_out = 0.0
        for name in fragments:
            if name in rates:
                for alias in record.plan.query.sources:
                    rows_in[alias] = max(rows_in.get(alias, 0.0), rates[name].rows_in.get(alias, 0.0))
                rows_out = rates[name].rows_out.get(record.plan.query.operators[-1].id, rows_out)
        metrics = [snapshot.metrics[name] for name in fragments if name in snapshot.metrics]
        published = [m.published for m in metrics if m.published]
        lag = max(0.0, time.time() - min(published)) if published else None
        headroom = loop.last.explain.get(record.query, {}).get("headroom")
        table.add_row(
            record.query.split("/")[1],
            f"{sum(rows_in.values()):,.0f}",
            f"{rows_out:,.0f}",
            "-" if lag is None else f"{lag:.1f}",
            f"{sum(m.backlog for m in metrics):.0f}",
            "-" if headroom is None else f"{headroom:.2f}",
            "\n".join(_where(name, live[name]) for name in fragments),
        )
    return table


def _where(fragment: str, processes: list) -> str:  # type: ignore[type-arg]
    places = ", ".join(f"{p.node} e{p.epoch} {p.state}" for p in sorted(processes, key=lambda p: p.epoch))
    return f"{fragment.rsplit('-', 1)[0]}: {places}"
