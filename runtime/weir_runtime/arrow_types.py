"""Spark's plain types as Arrow's, without a JVM."""

from __future__ import annotations

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


def arrow_schema(columns: tuple[TypedColumn, ...], path: str) -> pa.Schema:
    """Raises FragmentError that names the column (`path` is where they stand)."""
    fields = []
    for i, column in enumerate(columns):
        try:
            name = normalise(column.type)
        except ValueError as error:
            raise FragmentError(f"{path}[{i}].type: {error}") from error
        kind = ARROW.get(name)
        fields.append(pa.field(column.name, pa.decimal128(*decimal_digits(name)) if kind is None else kind))
    return pa.schema(fields)


def event_times(rows: pa.Table, column: str) -> NDArray[np.int64]:
    """[us] Of a column of type timestamp[us] without nulls; shape (rows,)."""
    times: NDArray[np.int64] = rows.column(column).cast(pa.int64()).to_numpy()
    return times


def type_name(kind: pa.DataType) -> str:
    """The plain type of a result's column; the audit's engine has times without a zone."""
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return NAMES[kind]
