"""A test's query run as a batch on DuckDB, and as a stream on Spark."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from weir_placement.fragments import Ends, Knobs, Layout, cut
from weir_placement.model.fragment import Output
from weir_placement.model.plan import QueryPlan
from weir_runtime.audit import SourceRows, batch
from weir_runtime.lease import FileLease
from weir_runtime.logs.batches import write_batch
from weir_runtime.names import END, batch_name
from weir_runtime.process import FragmentProcess
from weir_runtime.session import end, start_session

from weir_operator.manifests.results import output_columns
from weir_operator.testing.cases import HERE, RowCase
from weir_operator.testing.pieces import on_time_rows, out_of_order, pieces

ONE_BY_ONE = Knobs(trigger_ms=50, max_batches=1)
"""Each file is a batch of its own."""


def run_as_batch(case: RowCase) -> pa.Table:
    """The rows of the query as it is written, under the names that its sink has."""
    sources = {}
    for alias, name in case.query.sources.items():
        stream = case.streams[name]
        sources[alias] = SourceRows(case.rows[name], stream.event_time, round(stream.delay * 1e6))
    result = batch(case.query.operators, sources)
    columns = output_columns(case.query.operators[-1]) if case.query.operators else ()
    if not columns:
        return result
    return pa.table([result.column(c.column) for c in columns], names=[c.name for c in columns])


@dataclass(frozen=True)
class StreamRunner:
    """Runs queries as streams, in one Spark session."""

    spark: SparkSession

    def as_written(self, case: RowCase, random: Random) -> pa.Table | None:
        """The rows in the order of the test, in pieces; None when nothing came out."""
        return self._run(case, {name: pieces(rows, random) for name, rows in case.rows.items()})

    def out_of_order(self, case: RowCase, random: Random) -> pa.Table | None:
        """The rows that are on time in the order of the test, in another one, in pieces."""
        logs = {}
        for name, rows in case.rows.items():
            stream = case.streams[name]
            logs[name] = pieces(out_of_order(on_time_rows(rows, stream), stream, random), random)
        return self._run(case, logs)

    def _run(self, case: RowCase, logs: Mapping[str, Sequence[pa.Table]]) -> pa.Table | None:
        with tempfile.TemporaryDirectory(prefix="weir-test-") as name:
            root = Path(name)
            folders = {stream: root / "in" / str(i) for i, stream in enumerate(logs)}
            for stream, tables in logs.items():
                folders[stream].mkdir(parents=True)
                for number, table in enumerate(tables):
                    write_batch(folders[stream] / batch_name(number, "arrow"), table)
                (folders[stream] / END).touch()
            query, out = case.query, root / "out"
            sources = {
                alias: {"files": {"uri": str(folders[stream]), "format": "arrow"}}
                for alias, stream in query.sources.items()
            }
            columns = output_columns(query.operators[-1]) if query.operators else ()
            ends = Ends(sources, Output("files", str(out), {}, columns), knobs=ONE_BY_ONE)
            everything_here = {operator.id: HERE.name for operator in query.operators}
            plan = QueryPlan(query, everything_here, dict.fromkeys(query.sources, HERE.name))
            # of any time, as the batch takes them
            streams = {n: dataclasses.replace(s, max_ahead=0.0) for n, s in case.streams.items()}
            layout = Layout(str(root))
            (spec,) = cut(plan, streams, ends, layout)
            spec = layout.stamp(spec, 1, HERE.name, standby=False)
            FragmentProcess(spec, FileLease(spec.lease)).execute(self.spark)
            files = sorted(out.glob("*.parquet"))
            return pa.concat_tables([pq.read_table(file) for file in files]) if files else None


@contextmanager
def stream_runner() -> Iterator[StreamRunner]:
    """A session of one core for all tests; it ends with them."""
    try:
        session = start_session(cores=1, heap_mb=512, app="weir test")
        yield StreamRunner(session)
        session.stop()  # before its JVM is gone: its clients would say that they cannot reach it
    finally:
        end()
