"""Every output row of a query compared with a batch query over the same input: missing, duplicate, wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import Output
from weir_placement.model.location import STORE, files_location
from weir_placement.model.streams import Stream
from weir_runtime.audit import SourceRows, Verdict, batch, compare
from weir_runtime.audit_logs import log_rows

from weir_operator.controller.desired_state import DesiredQuery


def audit(desired: DesiredQuery, streams: Mapping[str, Stream]) -> Verdict:
    """The sink's files compared with the batch query, which has the operators as the user wrote them.

    Raises:
        ValueError: the sink or a source is not made of files.
    """
    expected = expected_rows(desired, streams)
    sink = desired.ends.sink
    if sink.kind != "files" or sink.files.kind == STORE:
        where = f"{sink.kind} {sink.uri}".strip()
        raise ValueError(f"{desired.model.name}: only a files sink can be audited here, not {where}")
    if sink.columns:
        expected = expected.select([column.column for column in sink.columns])
    return compare(expected, sink_rows(sink, expected.slice(0, 0)))


def expected_rows(desired: DesiredQuery, streams: Mapping[str, Stream]) -> pa.Table:
    """The rows of the batch query, with all columns of the last operator. Raises ValueError as `audit`."""
    sources = {}
    for alias, name in desired.model.sources.items():
        stream = streams[name]
        rows = read_log(desired.ends.sources[alias], stream)
        sources[alias] = SourceRows(rows, stream.event_time, round(stream.delay * 1e6))
    return batch(desired.model.operators, sources)


def sink_rows(sink: Output, nothing: pa.Table) -> pa.Table:
    """The rows in a files sink; `nothing` when it has no file."""
    files = sorted(Path(sink.uri).glob("*.parquet"))
    return pa.concat_tables([pq.read_table(f) for f in files]) if files else nothing


def read_log(source: Mapping[str, Any], stream: Stream) -> pa.Table:
    """All rows of a source's folder of numbered files that can be read, in the order of the log."""
    files = source.get("files")
    if files is None or files_location(files).kind == STORE:
        raise ValueError(f"only files can be read again for an audit, not {', '.join(source)}")
    ahead = None if stream.max_ahead is None else round(stream.max_ahead * 1e6)
    columns = [(column.name, column.type) for column in stream.columns]
    return log_rows(files, columns, stream.event_time, ahead, finite=False)
