"""The metrics of a fragment (docs/runtime.md, "Metrics")."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge
from weir_placement.model.fragment import FragmentSpec

from weir_runtime.balance import Balance
from weir_runtime.cpu import Cpu, CpuMeter, executor_folder, reported

SPAN = 60.0
"""[s] over which selectivity and cost are averaged."""


class Metrics:
    """All of a fragment's metrics, fed with each batch's progress as Spark reports it."""

    def __init__(self, spec: FragmentSpec, cpu: Cpu | None = None) -> None:
        self.registry = CollectorRegistry()
        self._spec = spec
        self.epoch = spec.epoch
        self._labels = {"query": f"{spec.namespace}/{spec.query}", "fragment": spec.name}
        self.last_batch = -1
        self.state_size = 0  # [bytes] after the last batch
        self.balance = Balance(spec)
        self._cpu = cpu or CpuMeter(os.getpid())
        self._window: deque[tuple[float, float, dict[str, tuple[int, int]]]] = deque()
        counter, gauge = self._counter, self._gauge
        self.rows_in = counter("weir_rows_in", "Rows into an operator", "operator")
        self.rows_out = counter("weir_rows_out", "Rows out of an operator", "operator")
        self.selectivity = gauge("weir_selectivity", "Rows out per row in, over the last minute", "operator")
        self.cpu_seconds = gauge(
            "weir_cpu_seconds_total", "CPU seconds of the process tree and of the executors"
        )
        self.cpu_row = gauge(
            "weir_cpu_us_per_row", "CPU-microseconds per row in, over the last minute", "operator"
        )
        self.state_rows = gauge("weir_state_rows", "Rows in state", "operator")
        self.state_bytes = gauge("weir_state_bytes", "Bytes in state", "operator")
        self.lag = gauge("weir_watermark_lag_seconds", "Newest event time minus the watermark")
        self.duration = gauge("weir_batch_duration_seconds", "Duration of the last batch")
        self.batches = counter("weir_batches", "Committed batches")
        self.bytes = counter("weir_published_bytes", "Bytes written to the output")
        self.unread = gauge("weir_unread_bytes", "Published bytes that the slowest reader has not read yet")
        self.held_back = gauge("weir_held_back", "1 while waiting for the slowest reader of the output")
        self.unconfirmed = gauge("weir_lease_unconfirmed", "1 while nobody confirms the process's lease")
        self.unreachable = gauge("weir_unreachable", "1 while brokers or a store do not answer at the start")
        self.published = gauge(
            "weir_publish_timestamp_seconds", "Unix time at which the last batch was published"
        )
        self.backlog = gauge("weir_backlog_batches", "Batches of an input waiting to be read", "operator")
        self.late = counter("weir_late_rows", "Rows that arrived too late at a source", "operator")
        self.lost = counter("weir_lost_rows", "Rows that were deleted before they were read", "operator")
        self.lost_files = counter(
            "weir_lost_files", "Files of a source that were deleted before they were read", "operator"
        )
        self.missing = gauge(
            "weir_missing_file", "Number of a source's file that is missing where later ones are", "operator"
        )
        self.idle = gauge(
            "weir_idle_partitions", "Idle partitions: the event-time clock does not wait for them", "operator"
        )
        self.silent = gauge("weir_silent_seconds", "Seconds since the last row of a source", "operator")
        self.clock_behind = gauge(
            "weir_clock_behind_seconds",
            "By how much the machine's clock is behind an earlier one",
            "operator",
        )
        self.bad = counter("weir_bad_rows", "Bad rows: rows of a source that cannot be read", "operator")
        self.dropped = counter("weir_dropped_rows", "Rows dropped as late by Spark: must be 0")
        self.link = gauge("weir_link_seconds", "One-way latency to the producer of an input", "operator")
        self._gauge("weir_epoch", "The process's epoch").labels(**self._labels).set(spec.epoch)
        for metric in (self.batches, self.bytes, self.dropped, self.duration, self.lag):
            metric.labels(**self._labels)
        self._heard = {item.name: time.monotonic() for item in spec.inputs if item.kind == "source"}
        for name in self._heard:
            self.silent.labels(**self.of(name)).set_function(partial(self._silence, name))
        for item in spec.inputs:
            for metric in (self.late, self.lost, self.lost_files, self.bad):
                metric.labels(**self.of(item.name))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, ["query", "fragment", *labels], registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, ["query", "fragment", *labels], registry=self.registry)

    def of(self, operator: str) -> dict[str, str]:
        """Labels of an operator, or of an input."""
        return {**self._labels, "operator": operator}

    @property
    def plain(self) -> dict[str, str]:
        """Labels of the fragment as a whole."""
        return self._labels

    def link_seconds(self, name: str, seconds: float) -> None:
        """The latency to the producer of an input."""
        self.link.labels(**self.of(name)).set(seconds)

    def miss(self, name: str, number: int | None) -> None:
        """The file that an input waits for though later ones are there, if there is one."""
        if number is None:
            self.missing.remove_by_labels(self.of(name))
        else:
            self.missing.labels(**self.of(name)).set(number)

    def ended(self, name: str) -> None:
        """An input has no more rows: it is not silent."""
        self._heard.pop(name, None)

    def _silence(self, name: str) -> float:
        return time.monotonic() - self._heard[name] if name in self._heard else 0.0

    def measure_cpu(self) -> float:
        """CPU seconds of this process, the JVM and the workers, and of the executors."""
        folder = executor_folder(self._spec)
        seconds = self._cpu.seconds() + (reported(folder) if folder else 0.0)
        self.cpu_seconds.labels(**self._labels).set(seconds)
        return seconds

    def progress(self, report: Mapping[str, Any]) -> None:
        """Takes one batch's progress; a batch that was taken before is ignored."""
        batch = int(report["batchId"])
        observed = report.get("observedMetrics") or {}
        if batch <= self.last_batch or not observed:
            return
        self.last_batch = batch
        flows = self._count_rows({name: _rows(row) for name, row in observed.items()})
        self._count_state(report.get("stateOperators") or [])
        self.batches.labels(**self._labels).inc()
        duration = report["durationMs"].get("triggerExecution", 0) / 1000
        self.duration.labels(**self._labels).set(duration)
        self._cpu.ran(duration)
        self._share(flows)

    def _count_rows(self, rows: Mapping[str, int]) -> dict[str, tuple[int, int]]:
        flows = {item.name: (rows.get(item.name, 0),) * 2 for item in self._spec.inputs}
        for operator in self._spec.operators:
            flows[operator.id] = (
                sum(rows.get(name, 0) for name in operator.inputs),
                rows.get(operator.id, 0),
            )
        self.balance.batch(**{item.name: rows.get(item.name, 0) for item in self._spec.inputs})
        for name, (inward, outward) in flows.items():
            if inward and name in self._heard:
                self._heard[name] = time.monotonic()
            self.rows_in.labels(**self.of(name)).inc(inward)
            self.rows_out.labels(**self.of(name)).inc(outward)
        return flows

    def _count_state(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Spark lists stateful operators from the plan's root on, left before right."""
        self.state_size = sum(int(report["memoryUsedBytes"]) for report in reports)
        for name, report in zip(stateful(self._spec), reports, strict=False):
            self.state_rows.labels(**self.of(name)).set(report["numRowsTotal"])
            self.state_bytes.labels(**self.of(name)).set(report["memoryUsedBytes"])
            self.dropped.labels(**self._labels).inc(report["numRowsDroppedByWatermark"])

    def _share(self, flows: dict[str, tuple[int, int]]) -> None:
        """The fragment's CPU a row, shared by planned cost; without costs, by rows in."""
        now = time.monotonic()
        self._window.append((now, self.measure_cpu(), flows))
        while now - self._window[0][0] > SPAN and len(self._window) > 2:
            self._window.popleft()
        total = {name: [0, 0] for name in flows}
        for _, _, counts in list(self._window)[1:]:
            for name, (inward, outward) in counts.items():
                total[name][0] += inward
                total[name][1] += outward
        used = (self._window[-1][1] - self._window[0][1]) * 1e6
        costs = {operator.id: operator.cost or 1.0 for operator in self._spec.operators}
        costs = costs or {item.name: 1.0 for item in self._spec.inputs}
        planned = sum(cost * total[name][0] for name, cost in costs.items())
        for name, (inward, outward) in total.items():
            if inward:
                self.selectivity.labels(**self.of(name)).set(outward / inward)
            if name in costs and inward and planned:
                self.cpu_row.labels(**self.of(name)).set(used * costs[name] / planned)


def stateful(spec: FragmentSpec) -> list[str]:
    """Joins and aggregates in pre-order from the last operator."""
    operators = {operator.id: operator for operator in spec.operators}
    names: list[str] = []

    def visit(name: str) -> None:
        if name in operators:
            if operators[name].stateful:
                names.append(name)
            for below in operators[name].inputs:
                visit(below)

    if spec.operators:
        visit(spec.operators[-1].id)
    return names


def _rows(row: Any) -> int:
    return int(row["rows"] if isinstance(row, Mapping) else row.rows)
