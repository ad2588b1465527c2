"""Values of rows as Python and JSON have them."""

from __future__ import annotations

import base64
from math import isfinite, isnan
from typing import Any

import pyarrow as pa

NONE = (ArithmeticError, LookupError, ValueError)
"""What it raises for a value that Python does not have: a time outside of the years 1 to 9999, or in a zone
that this machine does not know."""


def json_values(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON has them: bytes in base64, and numbers that it lacks as text (docs/files.md, "Types"), so
    that a source reads what a sink has written."""
    return [{name: json_value(value) for name, value in row.items()} for row in python_rows(table)]


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with the values that Python has; of a time that it has not the number, in its column's unit since
    1970, and None for what is not even that."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows
    except NONE:
        columns = [[_python_value(scalar) for scalar in column] for column in table.columns]
        return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except NONE:
        return getattr(scalar, "value", None)


def json_value(value: Any) -> Any:
    """One value."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
