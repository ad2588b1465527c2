"""Values of rows as JSON."""

from __future__ import annotations

import base64
from math import isfinite, isnan
from typing import Any

import pyarrow as pa


def json_values(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as JSON has them: bytes in base64, and numbers that it lacks as text (docs/files.md, "Types"), so
    that a source reads what a sink has written."""
    return [{name: json_value(value) for name, value in row.items()} for row in table.to_pylist()]


def json_value(value: Any) -> Any:
    """One value."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
