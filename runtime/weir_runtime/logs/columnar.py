"""Files of columns with types of their own: Parquet and Arrow."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from weir_runtime.json_values import python_rows
from weir_runtime.logs.bad_rows import Parsed, Unreadable, isolate, sift
from weir_runtime.logs.typed import converted, is_time

SHOWN = 120
"""Letters of the names of a file's columns."""


def parse(
    file: pa.NativeFile, form: str, schema: pa.Schema, event_time: str, limit: int | None, whole: bool
) -> Parsed:
    """The rows of a file of format `form`.

    Args:
        limit: [us] later event times are bad.
        whole: all columns; else those alone, all times among them, in which a bad row can be.

    Raises:
        Unreadable, pa.ArrowException, OSError: the file as a whole.
    """
    table = _parquet(file, schema, whole) if form == "parquet" else _arrow(file, schema)
    schema = pa.schema([field for field in schema if field.name in table.column_names])

    def some(low: int, high: int) -> pa.Table:
        return converted(table.slice(low, high - low), schema)

    def raw(position: int) -> bytes:
        return json.dumps(python_rows(table.slice(position, 1))[0], default=str).encode()

    some(0, 0)  # a column that has another type altogether: the file, and not each of its rows
    return sift(isolate(table.num_rows, some, raw), event_time, limit, raw)


def _parquet(file: pa.NativeFile, schema: pa.Schema, whole: bool) -> pa.Table:
    with pq.ParquetFile(file) as parquet:
        there = parquet.schema_arrow
        check_columns(there.names, schema)
        names = [f.name for f in schema if whole or is_time(f.type) or there.field(f.name).type != f.type]
        return parquet.read(names, use_threads=False)


def _arrow(file: pa.NativeFile, schema: pa.Schema) -> pa.Table:
    table = pa.ipc.open_file(file).read_all()
    check_columns(table.column_names, schema)
    return table.select(schema.names)


def check_columns(there: Sequence[str], schema: pa.Schema) -> None:
    """Raises Unreadable for a file that lacks a column of the stream, or has one twice: which of the two was
    meant would be a guess."""
    missing = [name for name in schema.names if name not in there]
    if missing:
        have = ", ".join(there)
        have = have if len(have) <= SHOWN else f"{have[:SHOWN]}..."
        raise Unreadable(f"no column {', '.join(missing)}; the file has {have}")
    if twice := [name for name in schema.names if list(there).count(name) > 1]:
        raise Unreadable(f"it has column {twice[0]} more than once; give each its own name")
