"""Messages of a topic as rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json


def parse(values: list[bytes], schema: pa.Schema, where: str) -> pa.Table:
    """JSON objects as a table; keys that are not there are null, others are left out. Raises ValueError."""
    if not values:
        return schema.empty_table()
    as_text = pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    )
    options = pyarrow.json.ParseOptions(explicit_schema=as_text, unexpected_field_behavior="ignore")
    lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
    block = pyarrow.json.ReadOptions(use_threads=False, block_size=max(1 << 20, len(lines) + 1))
    try:
        table = pyarrow.json.read_json(pa.BufferReader(lines), read_options=block, parse_options=options)
        if table.num_rows != len(values):
            raise ValueError(f"{len(values)} messages hold {table.num_rows} JSON objects")
        columns = [_typed(table.column(field.name), field.type) for field in schema]
    except (pa.ArrowInvalid, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Times out of text: UTC, whether it says so (Z, +00:00) or names no zone."""
    if not pa.types.is_timestamp(kind):
        return column
    text = pc.replace_substring_regex(column, r"(Z|\+00:?00)$", "")
    return text.cast(pa.timestamp("us")).cast(kind)
