"""JSON objects, one a line or a message."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.json
from pyarrow import types

from weir_runtime.arrow_types import unix_unit
from weir_runtime.logs.bad_rows import Parsed, Unreadable, isolate, sift
from weir_runtime.logs.misfits import misfit
from weir_runtime.logs.typed import WHOLE, converted

SPAN = 32 * 2**20
"""[bytes] of rows that are parsed at once."""

SEVERAL = re.compile(rb"[}\]]\s*n")
"""Where a second value, `null`, may follow the first in a row: the parser does not survive it."""


def parse(records: Sequence[bytes], schema: pa.Schema, event_time: str, limit: int | None) -> Parsed:
    """One row for each record. Keys that are not there are null; those that are no columns are not looked at.

    Args:
        limit: [us] later event times are bad.
    """

    def some(low: int, high: int) -> pa.Table:
        tables = [_rows(records[a:b], schema) for a, b in _spans(records, low, high)]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def raw(position: int) -> bytes:
        return records[position]

    def why(position: int) -> str:
        return _misfit(records[position], schema)

    return sift(isolate(len(records), some, raw, why), event_time, limit, raw)


def _misfit(record: bytes, schema: pa.Schema) -> str:
    try:
        row = json.loads(record)
    except ValueError:
        return ""
    if not isinstance(row, dict):
        return ""

    def read(value: str, field: pa.Field) -> None:
        _rows([f"{{{json.dumps(field.name)}: {value}}}".encode()], pa.schema([field]))

    return misfit({name: json.dumps(value) for name, value in row.items()}, schema, read)


def _spans(records: Sequence[bytes], low: int, high: int) -> list[tuple[int, int]]:
    spans, size, begin = [], 0, low
    for i in range(low, high):
        size += len(records[i])
        if size >= SPAN or i == high - 1:
            spans.append((begin, i + 1))
            begin, size = i + 1, 0
    return spans


def _rows(records: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    lines = [_line(record) for record in records]
    try:
        table = _read(lines, _written(schema, pa.int64()))
    except pa.ArrowInvalid:
        table = _read([_with_infinities(line, schema) for line in lines], _written(schema, WHOLE))
    return converted(_decoded(table, schema), schema)


def _line(record: bytes) -> bytes:
    """An object on a line. What is no object at all must not come near the parser, which looks at neither
    lines nor rows, but at one value after the other."""
    line = record.strip().replace(b"\n", b" ")
    if not (line.startswith(b"{") and line.endswith(b"}")):
        raise Unreadable("not a JSON object" if line else "empty")
    if SEVERAL.search(line):
        try:
            json.loads(line)
        except ValueError as error:
            raise Unreadable(f"not a JSON object: {error}") from error
    return line


def _with_infinities(line: bytes, schema: pa.Schema) -> bytes:
    """JSON has no number for them: they come as text, and the parser has words for them."""
    for field in schema:
        if types.is_floating(field.type):
            key = re.escape(json.dumps(field.name).encode())
            line = re.sub(rb"(" + key + rb'\s*:\s*)"(NaN|-?Infinity)"', rb"\1\2", line)
    return line


def _read(lines: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    text = b"\n".join(lines)
    options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    block = pyarrow.json.ReadOptions(use_threads=False, block_size=max(1 << 20, len(text) + 1))
    table = pyarrow.json.read_json(pa.BufferReader(text), read_options=block, parse_options=options)
    if table.num_rows != len(lines):
        raise Unreadable(f"{len(lines)} rows contain {table.num_rows} JSON objects")
    table.validate(full=True)  # text that is not UTF-8
    return table


def _written(schema: pa.Schema, whole: pa.DataType) -> pa.Schema:
    """How JSON has the types: it knows text, numbers and booleans alone."""

    def kind(field: pa.Field) -> pa.DataType:
        if types.is_integer(field.type):
            return whole if whole == WHOLE else field.type
        if unix_unit(field):
            return whole
        textual = types.is_timestamp(field.type) or types.is_date(field.type) or types.is_binary(field.type)
        return pa.string() if textual else field.type

    return pa.schema([pa.field(field.name, kind(field)) for field in schema])


def _decoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    for i, field in enumerate(schema):
        if types.is_binary(field.type):
            table = table.set_column(i, field.name, _bytes(table.column(field.name), field.name))
    return table


def _bytes(column: pa.ChunkedArray, name: str) -> pa.Array:
    try:
        values = [None if v is None else base64.b64decode(v, validate=True) for v in column.to_pylist()]
    except (binascii.Error, ValueError) as error:
        raise Unreadable(f"column {name}: not base64: {error}") from error
    return pa.array(values, pa.binary())
