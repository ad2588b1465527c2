"""Files of columns with types of their own: Parquet and Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from weir_runtime.json_values import python_rows
from weir_runtime.logs import pieces
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
    return _parsed(table, schema, event_time, limit)


def parse_pieces(
    file: pa.NativeFile, form: str, schema: pa.Schema, event_time: str, limit: int | None, whole: bool
) -> Iterator[Parsed]:
    """As `parse`, piece by piece; positions begin at 0 in each."""
    if form == "arrow":
        reader = pa.ipc.open_file(file)
        check_columns(reader.schema.names, schema)
        for i in range(reader.num_record_batches):
            table = pa.Table.from_batches([reader.get_batch(i)]).select(schema.names)
            yield _parsed(table, schema, event_time, limit)
        return
    with pq.ParquetFile(file, pre_buffer=False) as parquet:
        names = _columns(parquet, schema, whole)
        rows = max(1, parquet.metadata.num_rows * pieces.SPAN // _bytes(parquet))
        for batch in parquet.iter_batches(rows, columns=names, use_threads=False):
            yield _parsed(pa.Table.from_batches([batch]), schema, event_time, limit)


def size_of_rows(file: pa.NativeFile, form: str) -> int:
    """[bytes] in memory; what Parquet packs is more than the file. Raises pa.ArrowException, OSError."""
    if form == "arrow":
        return int(file.size())
    with pq.ParquetFile(file) as parquet:
        return _bytes(parquet)


def _bytes(parquet: pq.ParquetFile) -> int:
    groups = range(parquet.metadata.num_row_groups)
    return sum(parquet.metadata.row_group(i).total_byte_size for i in groups)


def _parsed(table: pa.Table, schema: pa.Schema, event_time: str, limit: int | None) -> Parsed:
    schema = pa.schema([field for field in schema if field.name in table.column_names])

    def some(low: int, high: int) -> pa.Table:
        return converted(table.slice(low, high - low), schema)

    def raw(position: int) -> bytes:
        return json.dumps(python_rows(table.slice(position, 1))[0], default=str).encode()

    some(0, 0)  # a column that has another type altogether: the file, and not each of its rows
    return sift(isolate(table.num_rows, some, raw), event_time, limit, raw)


def _parquet(file: pa.NativeFile, schema: pa.Schema, whole: bool) -> pa.Table:
    with pq.ParquetFile(file) as parquet:
        return parquet.read(_columns(parquet, schema, whole), use_threads=False)


def _columns(parquet: pq.ParquetFile, schema: pa.Schema, whole: bool) -> list[str]:
    """Those that are read."""
    there = parquet.schema_arrow
    check_columns(there.names, schema)
    return [f.name for f in schema if whole or is_time(f.type) or there.field(f.name).type != f.type]


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
