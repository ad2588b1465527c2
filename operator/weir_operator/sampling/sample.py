"""A sample of a stream's rows: from a file, or from a topic."""

from __future__ import annotations

import json
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import TypedColumn
from weir_runtime.arrow_types import arrow_schema
from weir_runtime.logs import columnar, csv_rows, json_rows
from weir_runtime.logs.bad_rows import BadRow, Parsed

from weir_operator.sampling import csv_table
from weir_operator.sampling.columns import Columns, event_time, of_objects, of_schema, of_texts, unix_units
from weir_operator.sampling.near_times import NearTimes, near_times
from weir_operator.sampling.sample_error import SampleError

FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
MOST_BYTES = 64 * 2**20
"""Of a text file that are looked at."""

MOST_NAMED = 12
"""Columns in a message."""

GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class SampleContent:
    """What was read: `body` is a file's, or JSON objects, `values` some of a column."""

    form: str
    columns: Columns
    body: bytes | Sequence[bytes]
    values: Mapping[str, Sequence[Any]]
    seconds: float | None = None  # between the first message and the last
    lines: Sequence[int] = ()  # of each row, where rows are lines


@dataclass(frozen=True)
class Sample:
    """Rows as the stream's source reads them, and what that leaves out.

    Attributes:
        types: of the columns, in order.
        time: the event-time column.
        unit: of its values where they are numbers since 1970, else "".
        perhaps_times: other columns of numbers that may be such times, with their unit.
        rows: those that can be read.
        bad: how many cannot be, and why the first one cannot.
    """

    content: SampleContent
    types: Mapping[str, str]
    time: str
    unit: str
    perhaps_times: Mapping[str, str]
    rows: pa.Table
    bad: int
    reason: str


def read_file(path: Path) -> SampleContent:
    """Raises SampleError, which names the file."""
    form = FORMATS.get(path.suffix.lower())
    if path.suffix.lower() == ".gz" and FORMATS.get(Path(path.stem).suffix.lower()):
        raise SampleError(f"{path}: is compressed; unpack it first: `gunzip {path}`")
    if path.is_dir():
        raise SampleError(f"{path}: is a folder; give one of its files")
    if form is None:
        raise SampleError(
            f"{path}: cannot be read as a sample; give a file that ends in {', '.join(FORMATS)}, or kafka://HOST:PORT/TOPIC"
        )
    try:
        if form == "parquet":
            return _parquet(path)
        with path.open("rb") as file:
            body = file.read(MOST_BYTES).removeprefix(BOM_UTF8)
        whole = path.stat().st_size <= MOST_BYTES
        body = body if whole else body[: body.rfind(b"\n") + 1]
        _check_encoding(body, path)
        return _csv(body, path, whole) if form == "csv" else of_lines(body.split(b"\n"), str(path))
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise SampleError(f"{path}:{line}: is not UTF-8; convert it, as with `iconv -t utf-8`") from error
    except FileNotFoundError:
        raise SampleError(f"{path}: no such file") from None
    except OSError as error:
        raise SampleError(f"{path}: cannot be read: {error.strerror or error}") from error
    except pa.ArrowInvalid as error:
        raise SampleError(f"{path}: cannot be read: {error}") from error


def _check_encoding(body: bytes, path: Path) -> None:
    if body.startswith(GZIP):
        right = f"unpack it first: `mv {path} {path}.gz && gunzip {path}.gz`"
        raise SampleError(f"{path}: is compressed; {right}")
    if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in body[:100]:
        right = f"convert it: `iconv -f utf-16 -t utf-8 {path} > new{path.suffix}`"
        raise SampleError(f"{path}: is UTF-16, not UTF-8; {right}")


def _csv(body: bytes, path: Path, whole: bool) -> SampleContent:
    table = csv_table.read(body.decode(), path, whole)
    return SampleContent("csv", of_texts(table.values), body, table.values, lines=table.lines)


def _parquet(path: Path) -> SampleContent:
    schema = pq.read_schema(path)
    columns = of_schema(schema)
    some = next(pq.ParquetFile(path).iter_batches(100), None)
    values = {} if some is None else some.to_pydict()
    return SampleContent(
        "parquet", columns, path.read_bytes(), {name: values.get(name, []) for name in schema.names}
    )


def of_lines(lines: Sequence[bytes], place: str, seconds: float | None = None) -> SampleContent:
    """Of JSON objects. Raises SampleError."""
    written = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not written:
        raise SampleError(f"{place}: is empty; a sample needs rows")
    if written[0][1].lstrip().startswith(b"["):
        right = "write one object a line, as `jq -c '.[]'` does"
        raise SampleError(f"{place}:{written[0][0]}: is an array and not a JSON object; {right}")
    objects = []
    for number, line in written:
        try:
            value = json.loads(line)
        except ValueError as error:
            why = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise SampleError(f"{place}:{number}: is not JSON: {why}; write one object a line") from error
        if not isinstance(value, dict):
            text = line.decode(errors="replace")[:40]
            raise SampleError(f"{place}:{number}: {text} is not a JSON object; write one object a line")
        objects.append(value)
    columns = of_objects(objects)
    values = {name: [row.get(name) for row in objects] for name in (*columns.types, *columns.omitted)}
    numbers = [number for number, _ in written]
    return SampleContent("json", columns, [line for _, line in written], values, seconds, numbers)


def typed(content: SampleContent, time: str | None) -> Sample:
    """The rows, with their event time in the column `time`; None: one that looks like it.

    Raises:
        SampleError: no column has times, or nothing can be read; the message does not name the sample.
    """
    types = dict(content.columns.types)
    units = unix_units(types, content.values)
    name = time or event_time(types, units)
    if name is None or (types.get(name) not in ("TIMESTAMP", "DATE") and name not in units):
        raise SampleError(_no_time(content, name, units))
    types[name] = "TIMESTAMP"
    unit = units.pop(name, "")
    parsed = _parsed(content, types, name, {name: unit} if unit else {})
    reason = _reason(parsed.bad[0], content.lines) if parsed.bad else ""
    if not parsed.rows.num_rows:
        raise SampleError(f"no row can be read: {reason}" if reason else "has no rows; a sample needs some")
    return Sample(content, types, name, unit, units, parsed.rows, len(parsed.bad), reason)


def _parsed(content: SampleContent, types: Mapping[str, str], time: str, units: Mapping[str, str]) -> Parsed:
    """By the code with which a query reads them."""
    schema = arrow_schema(tuple(TypedColumn(name, kind) for name, kind in types.items()), "schema", units)
    if isinstance(content.body, bytes):
        if content.form == "csv":
            return csv_rows.parse(content.body, schema, time, None)
        return columnar.parse(pa.BufferReader(content.body), "parquet", schema, time, None, True)
    return json_rows.parse(content.body, schema, time, None)


def _reason(row: BadRow, lines: Sequence[int]) -> str:
    has_line = row.position is not None and row.position < len(lines)
    return f"line {lines[int(row.position or 0)]}: {row.reason}" if has_line else row.reason


def almost_times(content: SampleContent) -> dict[str, NearTimes]:
    """By column of text, most values of which are times: how many are, and the first that is none."""
    texts = [name for name, kind in content.columns.types.items() if kind == "STRING"]
    all_near = {name: near_times(content.values.get(name, ()), content.lines) for name in texts}
    return {name: near for name, near in all_near.items() if near is not None}


def _no_time(content: SampleContent, name: str | None, units: Mapping[str, str]) -> str:
    types = content.columns.types
    near = almost_times(content)
    if notes := [f"{column}: {near[column]}" for column in near if name in (None, column)]:
        right = "correct it, or leave the value or its row out"
        return f"{'; '.join(notes)}. An event time has a time in each row: {right}"
    if name is not None:
        kind = types.get(name)
        wrong = f"column {name} is {kind}, not a time" if kind else f"no column {name}"
    elif units:
        return f"several columns may be the event time: {', '.join(units)}; give one with --time"
    else:
        wrong = "no column has times"
    return (
        f"{wrong}. A stream needs an event time: write it as 2026-01-31T12:00:00Z (ISO 8601), as a whole "
        f"number of s, ms or us since 1970, or, in a Parquet file, as a timestamp. {_found(content)}"
    )


def _found(content: SampleContent) -> str:
    """The columns that were looked at, with the first value of each."""
    looked, columns = content.columns, []
    for name, kind in list(looked.types.items())[:MOST_NAMED]:
        value = next((value for value in content.values.get(name, ()) if value is not None), None)
        columns.append(f"{name} {kind}" + ("" if value is None else f" ({str(value)[:30]!r})"))
    left_out = [f"{name} (left out: {why})" for name, why in looked.omitted.items()]
    more = max(len(looked.types) - MOST_NAMED, 0)
    rest = [f"and {more} more"] if more else []
    return f"The columns, each with its first value, are {', '.join([*columns, *rest, *left_out])}"
