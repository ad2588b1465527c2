"""Each batch is counted once, and no report is read twice."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyspark.sql import SparkSession
from weir_runtime.progress import Progress

from tests.runtime.support import wait_for


class ProgressReport:
    """A report in the JVM; counts how often it is read."""

    def __init__(self, number: int) -> None:
        self.number, self.read = number, 0

    def timestamp(self) -> str:
        return f"2030-01-01T00:00:{self.number:06.3f}Z"

    def json(self) -> str:
        self.read += 1
        return f'{{"batchId": {self.number}}}'


def test_only_new_reports_are_read_and_none_is_lost_while_spark_keeps_it() -> None:
    retained: list[ProgressReport] = []
    query: Any = SimpleNamespace(_jsq=SimpleNamespace(recentProgress=lambda: retained))
    progress = Progress(query)
    assert progress.new() == []
    every, seen = [], []
    for count in (1, 0, 3, 0, 0, 5, 2, 4):
        for _ in range(count):
            every.append(ProgressReport(len(every)))
        retained[:] = every[-5:]
        seen += progress.new()
        seen += progress.new()
    assert [report["batchId"] for report in seen] == list(range(15))
    assert all(report.read == 1 for report in every)
    every += [ProgressReport(number) for number in range(15, 27)]
    retained[:] = every[-5:]  # the one seen last is no longer kept
    assert [report["batchId"] for report in progress.new()] == [22, 23, 24, 25, 26]


def test_reports_of_a_query_are_those_that_spark_gives(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    progress = Progress(query)
    reports: list[dict[str, Any]] = []
    wait_for(lambda: len(reports) >= 5 or bool(reports.extend(progress.new())), "five batches")
    query.stop()
    reports += progress.new()
    assert reports == [json.loads(report.json) for report in query.recentProgress]
    assert [report["batchId"] for report in reports] == list(range(len(reports)))
