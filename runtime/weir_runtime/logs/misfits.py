"""Why a row cannot be read: its first value that has not the type of its column, in words of the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from weir_runtime.arrow_types import type_name
from weir_runtime.logs.bad_rows import Unreadable
from weir_runtime.logs.typed import hint

SHOWN = 60
"""Letters of a value."""


def misfit(values: Mapping[str, str], schema: pa.Schema, read: Callable[[str, pa.Field], object]) -> str:
    """`column n: "x" cannot be read as BIGINT`; "" where each value alone can be read.

    Args:
        values: as they are written, by column.
        read: raises Unreadable or pa.ArrowInvalid for a value that does not fit the column.
    """
    for field in schema:
        written = values.get(field.name)
        if written is None:
            continue
        try:
            read(written, field)
        except (Unreadable, pa.ArrowInvalid):
            value = written if len(written) <= SHOWN else f"{written[:SHOWN]}..."
            return f"column {field.name}: {value} cannot be read as {type_name(field.type)}{hint(field)}"
    return ""
