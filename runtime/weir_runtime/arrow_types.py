"""Spark's plain types as Arrow's, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from weir_placement.model.fragment import FragmentError, TypedColumn
from weir_placement.model.types import decimal_digits, normalise

ARROW = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}
NAMES = {kind: name for name, kind in ARROW.items()}


UNIX_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
"""Of numbers since 1970-01-01 UTC; they are Arrow's too."""

UNIX_UNIT = b"unix-unit"
"""Metadata of a field whose values are written as such numbers."""


def arrow_schema(
    columns: tuple[TypedColumn, ...], path: str, unix_times: Mapping[str, str] = MappingProxyType({})
) -> pa.Schema:
    """The columns, each with the unit of its source's `unixTimes`. Raises FragmentError that names the column
    (`path` is where they stand)."""
    for name, unit in unix_times.items():
        if name not in [column.name for column in columns]:
            raise FragmentError(f"{path}: unixTimes.{name}: no column {name}")
        if unit not in UNIX_UNITS:
            raise FragmentError(f"{path}: unixTimes.{name}: {unit!r} is not one of {', '.join(UNIX_UNITS)}")
    fields = []
    for i, column in enumerate(columns):
        try:
            name = normalise(column.type)
        except ValueError as error:
            raise FragmentError(f"{path}[{i}].type: {error}") from error
        kind = ARROW.get(name)
        field = pa.field(column.name, pa.decimal128(*decimal_digits(name)) if kind is None else kind)
        written = unix_times.get(column.name)
        fields.append(field.with_metadata({UNIX_UNIT: written}) if written else field)
    return pa.schema(fields)


def event_times(rows: pa.Table, column: str) -> NDArray[np.int64]:
    """[us] Of a column of type timestamp[us] without nulls; shape (rows,)."""
    times: NDArray[np.int64] = rows.column(column).cast(pa.int64()).to_numpy()
    return times


def unix_unit(field: pa.Field) -> str:
    """The unit of numbers since 1970 as which the values are written; "" for another form."""
    return ((field.metadata or {}).get(UNIX_UNIT) or b"").decode()


def type_name(kind: pa.DataType) -> str:
    """The plain type of a result's column; the audit's engine has times without a zone."""
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return NAMES[kind]
