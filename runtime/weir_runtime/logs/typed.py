"""Values of files and messages as the types of a stream's columns (docs/files.md, "Types")."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from weir_runtime.arrow_types import UNIX_UNITS, type_name, unix_unit
from weir_runtime.logs.bad_rows import MICROSECONDS, Unreadable

WHOLE = pa.decimal128(38, 18)
"""Text of a whole number as it may be written: 7, 7.0, 7e0."""


YEAR_1, YEAR_10_000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""[us]"""

DAY = 86_400_000_000
"""[us]"""


def converted(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a table with a stream's types. Raises Unreadable for a value that has no such type."""
    columns = [column(table.column(field.name), field) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def column(values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """One of them. A number for a time needs a unit that the source names: any other would be a guess."""
    have, want = values.type, field.type
    if have == want and not is_time(have):
        return values
    if types.is_dictionary(have):
        return column(values.cast(have.value_type), field)
    unit = unix_unit(field)
    if not unit and not _is_text(have) and not _is_text(want) and _family(have) != _family(want):
        raise Unreadable(
            f"column {field.name}: {have}, which cannot be read as {type_name(want)}{hint(field)}"
        )
    try:
        if unit and _family(have) != "time":
            return _moments(values.cast(pa.int64()), unit, want)
        if _is_text(have) and types.is_timestamp(want):
            return _times(pc.ascii_trim_whitespace(values.cast(pa.string())), want)
        if _is_text(have) and types.is_date(want):
            return pc.ascii_trim_whitespace(values).cast(want)
        of_type = values.cast(options=pc.CastOptions(target_type=want, allow_time_truncate=True))
        return _within_years(of_type, 1, "us") if is_time(want) else of_type
    except pa.ArrowNotImplementedError as error:
        raise Unreadable(
            f"column {field.name}: {have}, which cannot be read as {type_name(want)}{hint(field)}"
        ) from error
    except pa.ArrowInvalid as error:
        raise Unreadable(f"column {field.name}: {error}{hint(field)}") from error


def hint(field: pa.Field) -> str:
    """How a value of a column is written, where that is easily missed."""
    if unit := unix_unit(field):
        return f"; write a whole number of {UNIX_UNITS[unit]} since 1970, as unixTimes says"
    if types.is_timestamp(field.type):
        return "; write ISO 8601, as 2026-01-31T12:00:00Z, or name the unit of numbers in unixTimes"
    return "; write 2026-01-31" if types.is_date(field.type) else ""


def is_time(kind: pa.DataType) -> bool:
    """Whether values of a type are instants or days."""
    return bool(types.is_timestamp(kind) or types.is_date(kind))


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


def _moments(numbers: pa.ChunkedArray, unit: str, kind: pa.DataType) -> pa.ChunkedArray:
    """Whole numbers since 1970."""
    return _within_years(numbers.cast(pa.timestamp(unit, kind.tz)).cast(kind), MICROSECONDS[unit], unit)


def _within_years(times: pa.ChunkedArray, size: int, unit: str) -> pa.ChunkedArray:
    """The same, if they are within the years 1 to 9999, as text of ISO 8601 has them: Python has no others.
    For messages `size` [us] is that of the `unit`."""
    days = types.is_date32(times.type)
    ends = pc.min_max(times.cast(pa.int32() if days else pa.int64())).as_py()
    for end in (ends["min"], ends["max"]):
        if end is not None and not YEAR_1 <= end * (DAY if days else 1) < YEAR_10_000:
            number = f"{end} days" if days else f"{end // size} {unit}"
            raise pa.ArrowInvalid(f"{number} since 1970 is not within the years 1 to 9999")
    return times


def _times(text: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """ISO 8601: UTC, whether it says so or names no zone; TIMESTAMP has other zones too. Digits behind the
    sixth are cut."""
    text = pc.replace_substring_regex(text, r"([.]\d{6})\d+", r"\1")
    text = pc.replace_substring_regex(text, r"^(.{10}[T ]\d\d:[\d:.]+)(Z|\+00(:?00)?)$", r"\1")
    if kind.tz is None:
        return text.cast(kind)
    zoned = pc.match_substring_regex(text, r":\d\d([.]\d+)?[+-]\d\d(:?\d\d)?$")
    if not pc.any(zoned).as_py():
        return text.cast(pa.timestamp("us")).cast(kind)
    nothing = pa.scalar(None, pa.string())
    there = pc.if_else(zoned, text, nothing).cast(kind)
    here = pc.if_else(zoned, nothing, text).cast(pa.timestamp("us")).cast(kind)
    return pc.coalesce(there, here)
