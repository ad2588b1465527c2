"""Values of files and messages as the types of a stream's columns (docs/files.md, "Types")."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from weir_runtime.logs.bad_rows import Unreadable

WHOLE = pa.decimal128(38, 18)
"""Text of a whole number as it may be written: 7, 7.0, 7e0."""


def converted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a table with a stream's types. Raises Unreadable for a value that has no such type."""
    columns = [column(table.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def column(values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """One of them. Never a number for a time, nor the other way: its unit would be a guess."""
    have, want = values.type, field.type
    if have == want:
        return values
    if types.is_dictionary(have):
        return column(values.cast(have.value_type), field)
    if not _is_text(have) and not _is_text(want) and _family(have) != _family(want):
        raise Unreadable(f"column {field.name}: {have}, which cannot be read as {want}")
    try:
        if _is_text(have) and types.is_timestamp(want):
            return _times(values.cast(pa.string()), want)
        return values.cast(options=pc.CastOptions(target_type=want, allow_time_truncate=True))
    except pa.ArrowNotImplementedError as error:
        raise Unreadable(f"column {field.name}: {have}, which cannot be read as {want}") from error
    except pa.ArrowInvalid as error:
        raise Unreadable(f"column {field.name}: {error}") from error


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _family(kind: pa.DataType) -> str:
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "time"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return "bytes"
    return str(kind)


def _times(text: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """ISO 8601: UTC, whether it says so or names no zone; TIMESTAMP has other zones too. Digits behind the
    sixth are cut."""
    text = pc.replace_substring_regex(text, r"([.]\d{6})\d+", r"\1")
    text = pc.replace_substring_regex(text, r"(Z|\+00(:?00)?)$", "")
    if kind.tz is None:
        return text.cast(kind)
    zoned = pc.match_substring_regex(text, r":\d\d([.]\d+)?[+-]\d\d(:?\d\d)?$")
    if not pc.any(zoned).as_py():
        return text.cast(pa.timestamp("us")).cast(kind)
    nothing = pa.scalar(None, pa.string())
    there = pc.if_else(zoned, text, nothing).cast(kind)
    here = pc.if_else(zoned, nothing, text).cast(pa.timestamp("us")).cast(kind)
    return pc.coalesce(there, here)
