"""Types of columns, guessed from values, such that the stream's source can read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types
from weir_placement.model.types import NAME, is_hidden
from weir_runtime.logs.bad_rows import MICROSECONDS

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
WHOLE = re.compile(r"[+-]?\d{1,18}")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|nan|inf|-inf")
LIKE_NUMBER = re.compile(r"[$€£]?\s?[+-]?\d+([., '_]\d{3})*([.,]\d*)?([eE][+-]?\d+)?\s?[%$€£]?")
"""What people take for a number: 10,5 or 1 234.50 or $5 or 20 %."""
BOOLEAN = re.compile(r"true|false")
TEXTUAL = (("BOOLEAN", BOOLEAN), ("BIGINT", WHOLE), ("DOUBLE", NUMBER), ("TIMESTAMP", TIME), ("DATE", DATE))
"""The first whose pattern all values have; STRING otherwise."""
LIKELY_MOMENTS = range(900_000_000_000_000, 4_000_000_000_000_000)
"""[us] Numbers from 1998 to 2096 may be times."""
LIKELY_TIMES = ("event_time", "eventtime", "timestamp", "ts", "time", "datetime", "created_at", "at", "date")


@dataclass(frozen=True)
class Columns:
    """`types` by column, in the order of the sample; `omitted` by column: why a stream cannot have it."""

    types: Mapping[str, str]
    omitted: Mapping[str, str]


def of_texts(table: Mapping[str, Sequence[str | None]]) -> Columns:
    """Columns of a CSV file, whose values are all text."""
    return _named({name: text_type(values) for name, values in table.items()})


def of_objects(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Columns of JSON objects."""
    values: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    return _named({name: _json_type(some) for name, some in values.items()})


def of_schema(schema: pa.Schema) -> Columns:
    """Columns of a Parquet file."""
    return _named({field.name: _arrow_type(field.type) for field in schema})


def text_type(values: Iterable[str | None]) -> str:
    """The narrowest type of texts; null is any.

    >>> text_type(["1", None, "2"]), text_type(["1", "2.5"]), text_type(["NA"])
    ('BIGINT', 'DOUBLE', 'STRING')
    """
    distinct = {value for value in values if value is not None}
    fits = (name for name, form in TEXTUAL if distinct and all(map(form.fullmatch, distinct)))
    return next(fits, "STRING")


def almost_numbers(types: Mapping[str, str], values: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Text columns of which most values are numbers, in whatever country's form -> the first that is none.

    >>> almost_numbers({"a": "STRING", "b": "STRING"}, {"a": ["1", "NA", "2"], "b": ["10,5", None, "3"]})
    {'a': 'NA', 'b': '10,5'}
    """
    result = {}
    for name, kind in types.items():
        texts = (
            [value for value in values.get(name, ()) if isinstance(value, str)] if kind == "STRING" else []
        )
        others = [text for text in texts if not NUMBER.fullmatch(text)]
        like = sum(LIKE_NUMBER.fullmatch(text) is not None for text in texts)
        if others and 2 * like > len(texts):
            result[name] = others[0]
    return result


def _json_type(values: Sequence[Any]) -> str:
    """Empty for what has no plain type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        written = text_type(values)
        return written if written in ("TIMESTAMP", "DATE") else "STRING"
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT" if all(abs(value or 0) < 2**63 for value in values) else "DOUBLE"
    return "DOUBLE" if kinds <= {int, float} else ""


def _arrow_type(kind: pa.DataType) -> str:
    if types.is_dictionary(kind):
        return _arrow_type(kind.value_type)
    if types.is_timestamp(kind):
        return "TIMESTAMP"
    if types.is_integer(kind):
        bits = kind.bit_width * (2 if types.is_unsigned_integer(kind) else 1)
        return {8: "TINYINT", 16: "SMALLINT", 32: "INT"}.get(bits, "BIGINT")
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    plain = {
        "BOOLEAN": types.is_boolean(kind),
        "FLOAT": types.is_float16(kind) or types.is_float32(kind),
        "DOUBLE": types.is_float64(kind),
        "DATE": types.is_date(kind),
        "STRING": types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind),
        "BINARY": types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind),
    }
    return next((name for name, fits in plain.items() if fits), "")


NAMED_WRONGLY = (
    "its name is not letters a-z, digits and '_', or is the reader's own; give it another name in the file"
)


def _named(kinds: Mapping[str, str]) -> Columns:
    omitted, kept, lower = {}, {}, set()
    for name, kind in kinds.items():
        if not NAME.fullmatch(name) or is_hidden(name):
            omitted[name] = NAMED_WRONGLY
        elif name.lower() in lower:
            omitted[name] = "another column has the same name in another case"
        elif not kind:
            omitted[name] = "its values are of several types, or are lists or objects"
        else:
            kept[name] = kind
            lower.add(name.lower())
    return Columns(kept, omitted)


def event_time(columns: Mapping[str, str], units: Mapping[str, str]) -> str | None:
    """The column that is likeliest the event time: by its type, and then by its name. A DATE will do, where
    there is no TIMESTAMP, and numbers (`units` as `unix_units` gives them), where there is neither: by their
    name, or if one column alone may have times."""
    for kind in ("TIMESTAMP", "DATE"):
        names = [name for name, have in columns.items() if have == kind]
        if names:
            return (_likely(names) or names)[0]
    return next(iter(_likely(units) or (units if len(units) == 1 else ())), None)


def _likely(names: Iterable[str]) -> list[str]:
    return [name for usual in LIKELY_TIMES for name in names if name.lower() == usual]


def unix_units(columns: Mapping[str, str], values: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Columns of whole numbers that are times since 1970 if they are times at all, with their unit."""
    units = {name: _unix_unit(values[name]) for name, kind in columns.items() if kind == "BIGINT"}
    return {name: unit for name, unit in units.items() if unit}


def _unix_unit(values: Sequence[Any]) -> str:
    numbers = [int(value) for value in values if value is not None]
    fits = (
        unit
        for unit, us in MICROSECONDS.items()
        if numbers and all(n * us in LIKELY_MOMENTS for n in numbers)
    )
    return next(fits, "")
