"""Metrics by asking each fragment directly."""

from __future__ import annotations

import time
import urllib.request
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from weir_operator.controller.snapshot import FragmentMetrics, OperatorMetrics, Process

if TYPE_CHECKING:  # the operator's image has no runtime in it
    from weir_operator.local.processes import Processes

TIMEOUT = 1.0
"""[s] A fragment that does not answer in time is left out of this round."""


class Scrape:
    """MetricsPort over HTTP on this machine."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def read(self, processes: tuple[Process, ...]) -> Mapping[str, FragmentMetrics]:
        """The last reading of each fragment's running process."""
        found = {}
        for process in processes:
            port = (
                self._processes.port_of(process.fragment, process.epoch)
                if process.state == "running"
                else None
            )
            if port is None:
                continue
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=TIMEOUT) as answer:
                    text = answer.read().decode()
            except OSError:
                continue
            found[process.fragment] = parse_metrics(text, process.fragment, process.epoch, time.time())
        return found


def parse_metrics(text: str, fragment: str, epoch: int, at: float) -> FragmentMetrics:
    """Prometheus' text form to one reading; names as in docs/runtime.md."""
    total: dict[str, float] = defaultdict(float)
    last: dict[str, float] = {}
    rows_in: dict[str, float] = {}
    rows_out: dict[str, float] = {}
    links: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            operator = sample.labels.get("operator")
            total[sample.name] += sample.value
            last[sample.name] = sample.value
            if sample.name == "weir_rows_in_total" and operator:
                rows_in[operator] = sample.value
            elif sample.name == "weir_rows_out_total" and operator:
                rows_out[operator] = sample.value
            elif sample.name == "weir_link_seconds" and operator:
                links[operator] = sample.value
    return FragmentMetrics(
        fragment=fragment,
        epoch=epoch,
        at=at,
        backlog=total["weir_backlog_batches"],
        bytes_out=total["weir_published_bytes_total"],
        cpu_seconds=total["weir_cpu_seconds_total"],
        published=last.get("weir_publish_timestamp_seconds", 0.0),
        batches=total["weir_batches_total"],
        state_rows=total["weir_state_rows"],
        state_bytes=total["weir_state_bytes"],
        watermark_lag=last.get("weir_watermark_lag_seconds", 0.0),
        batch_seconds=last.get("weir_batch_duration_seconds", 0.0),
        late_rows=total["weir_late_rows_total"],
        dropped_rows=total["weir_dropped_rows_total"],
        operators={name: OperatorMetrics(rows, rows_out.get(name, 0.0)) for name, rows in rows_in.items()},
        links=links,
    )
