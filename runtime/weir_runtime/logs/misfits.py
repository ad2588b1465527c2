"""Why a row cannot be read: its first value that has not the type of its column, in words of the schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa
from pyarrow import types

from weir_runtime.arrow_types import type_name
from weir_runtime.logs.bad_rows import Unreadable
from weir_runtime.logs.typed import hint

SHOWN = 60
"""Letters of a value."""

WHOLE_NUMBER = re.compile(r'"?(-?\d{1,38})"?')
"""As it may be written, up to what a type can hold."""

WIDTHS = {"SMALLINT": 16, "INT": 32, "BIGINT": 64}
"""Bits of the types to which a narrower one may be widened."""


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
            about = hint(field) or _beyond(written, field.type)
            return f"column {field.name}: {value} cannot be read as {type_name(field.type)}{about}"
    return ""


def _beyond(written: str, kind: pa.DataType) -> str:
    """That a whole number is beyond its type, and which type holds it; "" where it is none, or none does."""
    whole = WHOLE_NUMBER.fullmatch(written)
    if whole is None or not types.is_integer(kind):
        return ""
    number = int(whole[1])
    holds = (name for name, bits in WIDTHS.items() if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1))
    return f"; it is beyond {type_name(kind)}: declare {next(holds, 'DECIMAL(38,0)')}"
