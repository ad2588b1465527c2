"""What was committed since the last look, as metrics and as the number of the last batch."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from weir_runtime.checkpoint import Checkpoint
from weir_runtime.faults import reach
from weir_runtime.inputs import OpenInput
from weir_runtime.metrics import Metrics
from weir_runtime.progress import Progress

LAST_REPORT = 5.0
"""[s] for Spark to report a batch that is committed."""

LOOK = 0.02
"""[s] between two looks for it."""


class Reports:
    """Feeds the metrics of a running query."""

    def __init__(
        self,
        inputs: list[OpenInput],
        progress: Progress,
        checkpoint: Checkpoint,
        metrics: Metrics,
    ) -> None:
        self.inputs = inputs
        self._progress = progress
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._batch = -1  # the last one that was taken
        self._ends: dict[str, dict[str, Any]] = {}  # its offsets: Spark deletes them a while later

    def committed(self) -> int:
        """The last batch that is committed; -1: none."""
        return self._checkpoint.committed()

    def has_counted(self, batch: int) -> bool:
        """Whether Spark's report of a committed batch, which comes after the commit, was taken."""
        for report in self._progress.new():
            self._metrics.progress(report)
        return self._metrics.last_batch >= batch

    def await_count(self, batch: int, query: StreamingQuery) -> None:
        """Waits until it was, for a while: only counts depend on it."""
        deadline = time.monotonic() + LAST_REPORT
        while query.isActive and not self.has_counted(batch) and time.monotonic() < deadline:
            time.sleep(LOOK)

    def take(self) -> int | None:
        """Takes everything new; the last batch committed, None if there is none since the last call."""
        for report in self._progress.new():
            self._metrics.progress(report)
        batch = self.committed()
        if batch == self._batch:
            return None
        reach("after-commit")
        try:
            starts, ends = self._ends, self._checkpoint.offsets(batch)
        except FileNotFoundError:  # gone since: the next look finds a later one
            return None
        self._batch, self._ends = batch, ends
        for item in self.inputs:
            name = item.spec.name
            start, end = starts[name]["at"] if starts else None, ends[name]["at"]
            if ends[name]["ended"]:
                self._metrics.ended(name)
            labels = self._metrics.of(name)
            self._metrics.backlog.labels(**labels).set(item.log.backlog(end))
            late, lost, bad = (count(start, end) for count in (item.log.late, item.log.lost, item.log.bad))
            self._metrics.late.labels(**labels).inc(late)
            self._metrics.lost.labels(**labels).inc(lost)
            self._metrics.lost_files.labels(**labels).inc(item.log.lost_files(start, end))
            self._metrics.bad.labels(**labels).inc(bad)
            self._metrics.balance.add(name, late=late, lost=lost, bad=bad)
            self._metrics.clock_behind.labels(**labels).set(item.log.clock_behind(end))
            self._metrics.idle.labels(**labels).set(item.log.idle(end))
        return batch
