"""CSV files (RFC 4180) with a header."""

from __future__ import annotations

import csv
import io
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv
from pyarrow import types

from weir_runtime.arrow_types import unix_unit
from weir_runtime.logs.bad_rows import Parsed, Unreadable, isolate, sift
from weir_runtime.logs.columnar import check_columns
from weir_runtime.logs.misfits import misfit
from weir_runtime.logs.typed import WHOLE, converted

MOST = 2**30
"""[bytes] that are parsed at once; no row may be longer."""

LONGEST_HEADER = 2**20
"""[bytes]"""

OPEN = 'a quote (") is opened here, and nothing closes it'
CLOSED = 'a quote (") is opened here, and the one that closes it, in another line, is within a value'


def parse(text: bytes, schema: pa.Schema, event_time: str, limit: int | None) -> Parsed:
    """The rows of a file. A value that is not written is null, `""` is an empty text; other words, as NA, are
    what they are.

    Args:
        limit: [us] later event times are bad.

    Raises:
        Unreadable: the file as a whole.
    """
    header = header_of(text)
    _check_header(_names(header), schema)
    records: list[bytes] = []

    def split() -> Sequence[bytes]:
        """Only where it is needed: reading them one by one takes longer than all the rest."""
        if not records:
            records.extend(list(_records(text))[1:])
        return records

    def raw(position: int) -> bytes:
        return split()[position]

    faulty: dict[int, str] = {}
    try:
        rows = _rows(text, schema)
        # Every quote that is closed is there twice. One that is not takes rows behind it into its value.
        if text.count(b'"') % 2 or _lines(text) != rows.num_rows + 1:
            faulty = _misquoted(split())
        if faulty:
            raise Unreadable("; ".join(faulty.values()))
        whole = isolate(rows.num_rows, lambda low, high: rows.slice(low, high - low), raw)
    except (Unreadable, pa.ArrowInvalid):
        lines = split()
        faulty = _misquoted(lines)
        positions = sorted(faulty)

        def some(low: int, high: int) -> pa.Table:
            first = bisect_left(positions, low)
            if first < len(positions) and positions[first] < high:
                raise Unreadable(faulty[positions[first]])
            table = _rows(b"".join([header, *lines[low:high]]), schema)
            if table.num_rows != high - low:
                raise Unreadable(f"{high - low} lines contain {table.num_rows} rows")
            return table

        whole = isolate(len(lines), some, raw, lambda i: faulty.get(i) or _misfit(header, lines[i], schema))
    return sift(whole, event_time, limit, raw)


def header_of(text: bytes) -> bytes:
    """A file's first row, with its end of line."""
    return next(_records(text[:LONGEST_HEADER]), b"")


def _check_header(names: list[str], schema: pa.Schema) -> None:
    """Raises Unreadable."""
    if not any(name.strip() for name in names):
        raise Unreadable("it is empty; the first line must have the columns' names")
    try:
        check_columns(names, schema)
    except Unreadable as error:
        hint = "" if set(names) & set(schema.names) else "; is the header missing?"
        raise Unreadable(f"{error}{hint}") from error


def _lines(text: bytes) -> int:
    """How many lines it has."""
    return text.count(b"\n") + (not text.endswith(b"\n"))


def _misquoted(records: Sequence[bytes]) -> dict[int, str]:
    """By position, what is wrong with quotes that have taken other rows into their value: one that nothing
    closes, or that the next stray one closes, behind which the value goes on."""
    last = len(records) - 1
    return {
        i: f"{wrong}{'' if count == 1 else f' (this value goes over {count} lines)'}"
        for i, record in enumerate(records)
        if (count := len(record.splitlines())) > 1 or i == last
        if (wrong := _wrong_quote(record, count > 1))
    }


def _wrong_quote(record: bytes, goes_on: bool) -> str:
    try:
        for _ in csv.reader(io.StringIO(record.decode("latin-1"), newline=""), strict=True):
            pass
    except csv.Error as error:
        if "unexpected end" in str(error):
            return OPEN
        return CLOSED if goes_on else ""
    return ""


def _misfit(header: bytes, record: bytes, schema: pa.Schema) -> str:
    names, values = _names(header), _names(record)
    if len(names) != len(values):
        return f"{len(values)} values for {len(names)} columns"

    def read(value: str, field: pa.Field) -> None:
        text = io.StringIO()
        csv.writer(text).writerows([[field.name], [value]])
        _rows(text.getvalue().encode(), pa.schema([field]))

    return misfit({name: value for name, value in zip(names, values, strict=True) if value}, schema, read)


def _rows(text: bytes, schema: pa.Schema) -> pa.Table:
    try:
        return converted(_read(text, schema, None), schema)
    except (Unreadable, pa.ArrowInvalid):
        return converted(_read(text, schema, WHOLE), schema)


def _read(text: bytes, schema: pa.Schema, whole: pa.DataType | None) -> pa.Table:
    def kind(field: pa.Field) -> pa.DataType:
        if types.is_integer(field.type):
            return whole or field.type
        if unix_unit(field):
            return whole or pa.int64()
        return pa.string() if types.is_timestamp(field.type) else field.type

    kinds = {field.name: kind(field) for field in schema}
    size = min(max(1 << 20, len(text) + 1), MOST)
    table: pa.Table = pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=size),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=kinds,
            include_columns=schema.names,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return table


def _names(header: bytes) -> list[str]:
    return next(csv.reader([header.decode("utf-8-sig", "replace")]), [])


def _records(text: bytes) -> Iterator[bytes]:
    """Each with its end of line; empty lines are no rows. A value in quotes may go over several lines."""
    csv.field_size_limit(MOST)
    begin = end = 0

    def lines() -> Iterator[str]:
        nonlocal end
        for line in io.StringIO(text.decode("latin-1"), newline=""):  # a letter for each byte
            end += len(line)
            yield line

    for fields in csv.reader(lines()):
        if fields:
            yield text[begin:end]
        begin = end
