"""Rows that Spark dropped behind a watermark: looked for in each batch before any of it is published.

Lateness is decided at the sources, once (docs/runtime.md, "Time"): a row that an operator inside of a
fragment drops is lost. Spark tells of it when the batch is committed, which would be too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

RUNTIME = "org.apache.spark.sql.execution.streaming.runtime"


class RowsDropped(RuntimeError):
    """The result of a batch lacks rows; none of it may be published."""


class DroppedRows:
    """Looks at the batch that a query has just run; O(stateful operators), a few calls of the JVM.

    Args:
        operators: ids of the query's stateful operators, as Spark lists them: from the plan's root on, left
            before right.

    `error` is what was found; None: nothing.
    """

    def __init__(self, operators: Sequence[str]) -> None:
        self.error: RowsDropped | None = None
        self._operators = operators
        self._execution: Future[Any] = Future()  # a batch may run before Spark has given us the query

    def watch(self, query: StreamingQuery) -> None:
        """The query whose batches are checked."""
        self._execution.set_result(query._jsq.streamingQuery())

    def check(self, batch: int) -> None:
        """Raises RowsDropped when the batch under way, which has run and is not committed, lacks rows."""
        if not self._operators:
            return
        reports = _state_reports(self._execution.result())
        names = dict(enumerate(self._operators))
        dropped = [reports.apply(place).numRowsDroppedByWatermark() for place in range(reports.size())]
        losses = [f"{n} in operator {names.get(place, place)}" for place, n in enumerate(dropped) if n]
        if losses:
            self.error = RowsDropped(
                f"batch {batch}: Spark dropped rows as late: {', '.join(losses)}; nothing of the batch is "
                "published, because these rows would be missing"
            )
            raise self.error


def _state_reports(execution: Any) -> Any:
    """Of the stateful operators of an execution's batch, by the method with which Spark makes its own
    progress reports, and which it keeps to itself."""
    context = SparkContext._active_spark_context
    assert context is not None
    gateway: Any = context._gateway
    lang = gateway.jvm.java.lang
    kinds, arguments = gateway.new_array(lang.Class, 1), gateway.new_array(lang.Object, 1)
    kinds[0] = lang.Class.forName(f"{RUNTIME}.IncrementalExecution")
    arguments[0] = execution.lastExecution()
    method = lang.Class.forName(f"{RUNTIME}.ProgressContext").getDeclaredMethod(
        "extractStateOperatorMetrics", kinds
    )
    method.setAccessible(True)
    return method.invoke(execution.getLatestExecutionContext(), arguments)
