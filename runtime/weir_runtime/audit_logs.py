"""The rows of a source's files for the judge: read by DuckDB, none of the code by which a query reads them.

What a value must be is written down a second time here, from docs/files.md ("Types"), so that a
fault of the reader shows. Arrow files alone are opened by the same library (DuckDB reads none); their values
are judged here as those of the others. A row too far ahead is one by the clock of the audit.
"""

from __future__ import annotations

import tempfile
import time
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc
from weir_placement.model.location import STORE, files_location

from weir_runtime.names import END, PLAUSIBLE, batch_name

DAY = 86_400_000_000

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FLOATS = ("FLOAT", "DOUBLE")
DUCK = {"INT": "INTEGER", "STRING": "VARCHAR", "BINARY": "BLOB", "TIMESTAMP_NTZ": "TIMESTAMP"}
"""DuckDB's names of types, where they are others."""

NUMBERS = "'UBIGINT', 'BIGINT', 'HUGEINT', 'UHUGEINT', 'DOUBLE'"
"""As `json_type` has them."""

UNIX = "UNIX "
"""Before a unit, in place of TIMESTAMP: a number since 1970 (`unixTimes` of the source)."""

NUMBERS_FROM = 100_000_000_000_000
"""[us] Event times that are numbers are after it."""

FROM_YEAR_1_TO_9999 = "BETWEEN -62135596800000000 AND 253402300799999999"

DAY_OF = r"\d{4}-\d\d-\d\d"
HOUR = r"([01]\d|2[0-3])"
MINUTES = rf"{DAY_OF}[T ]{HOUR}:[0-5]\d(:[0-5]\d([.]\d+)?)?"
ISO_8601 = {
    "DATE": DAY_OF,
    "TIMESTAMP": rf"{DAY_OF}([T ]{HOUR})?|{MINUTES}(Z|[+-]{HOUR}(:?[0-5]\d)?)?",
    "TIMESTAMP_NTZ": rf"{DAY_OF}([T ]{HOUR})?|{MINUTES}(Z|[+]00(:?00)?)?",
}
"""Texts of times: DuckDB reads more than these, and not an hour alone."""

FORMS = {
    "parquet": "read_parquet('{path}')",
    "arrow": "content",
    "csv": "read_csv('{path}', header=true, all_varchar=true, delim=',', quote='\"', escape='\"', "
    "nullstr='', allow_quoted_nulls=false, ignore_errors=true, max_line_size=1000000000)",
    "json": "(SELECT json AS _row FROM read_ndjson_objects('{path}', ignore_errors=true, "
    "maximum_object_size=1000000000) WHERE json_type(json) = 'OBJECT')",
}


def log_rows(
    files: Mapping[str, Any],
    columns: Sequence[tuple[str, str]],
    event_time: str,
    ahead: int | None = None,
    start: int = 0,
    finite: bool = True,
) -> pa.Table:
    """All rows that can be read, late ones too, in the order of the log.

    Args:
        files: `source.files` of a Stream object.
        columns: names and types of the stream.
        ahead: [us] as `Input.max_ahead`.
        start: number of the first file.
        finite: the log must have an end.

    Raises:
        ValueError: it has none, so it may still grow.
    """
    form = files.get("format", "parquet")
    limit = time.time_ns() // 1000 + (DAY if ahead is None else ahead) if ahead != 0 else PLAUSIBLE - 1
    units = files.get("unixTimes") or {}
    columns = [(name, UNIX + units[name] if name in units else kind) for name, kind in columns]
    time_of = f"epoch_us({_quoted(event_time)})"
    first, last = NUMBERS_FROM if event_time in units else 1, min(limit, PLAUSIBLE - 1)
    in_time = f"{time_of} BETWEEN {first} AND {last}"
    tables = []
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        for path in _paths(files, form, Path(scratch), start, finite):
            try:
                path = _without_mark(path, Path(scratch)) if form == "json" else path
                tables.append(_rows(engine, path, form, columns, in_time))
            except (duckdb.Error, pa.ArrowInvalid):
                continue  # a file that cannot be read is one bad row
    return pa.concat_tables(tables) if tables else _nothing(columns)


def json_lines(lines: Iterable[bytes], columns: Sequence[tuple[str, str]]) -> pa.Table:
    """Rows of JSON objects, one a line; what does not fit the columns is left out."""
    with tempfile.TemporaryDirectory() as scratch, duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        path = Path(scratch) / "lines"
        path.write_bytes(b"\n".join(lines))
        return _rows(engine, path, "json", columns)


def _paths(files: Mapping[str, Any], form: str, scratch: Path, start: int, finite: bool) -> Iterator[Path]:
    location = files_location(files)
    if location.kind != STORE:
        folder = Path(location.address)
        if finite and not (folder / END).exists():
            raise ValueError(f"{folder / END}: no such file; the log may still grow")
        for number in count(start):
            path = folder / batch_name(number, form)
            if not path.exists():
                return
            yield path
    from weir_runtime.store import ObjectStore

    store = ObjectStore(location.address, location.options)
    if finite and store.read(END) is None:
        raise ValueError(f"{location.address}/{END}: no such object; the log may still grow")
    for number in count(start):
        body = store.read(batch_name(number, form))
        if body is None:
            return
        path = scratch / batch_name(number, form)
        path.write_bytes(bytes(body))
        yield path
        path.unlink()


def _without_mark(path: Path, scratch: Path) -> Path:
    """The file, or a copy without the byte order mark that it begins with: DuckDB's JSON knows none."""
    with path.open("rb") as file:
        if file.read(len(BOM_UTF8)) != BOM_UTF8:
            return path
        copy = scratch / f"plain-{path.name}"
        copy.write_bytes(file.read())
    return copy


def _rows(
    engine: duckdb.DuckDBPyConnection,
    path: Path,
    form: str,
    columns: Sequence[tuple[str, str]],
    where: str = "true",
) -> pa.Table:
    if form == "arrow":
        with pa.memory_map(str(path)) as file:
            engine.register("content", pa.ipc.open_file(file).read_all())
    if form != "parquet" and path.stat().st_size == 0:
        return _nothing(columns)
    source = FORMS[form].format(path=str(path).replace("'", "''"))
    there = [
        _written(name, kind) if form == "json" else (_quoted(name), _quoted(name)) for name, kind in columns
    ]
    values = [_value(text, kind) for (text, _), (_, kind) in zip(there, columns, strict=True)]
    selected = ", ".join(
        f"{value} AS {_quoted(name)}" for value, (name, _) in zip(values, columns, strict=True)
    )
    right = " AND ".join(
        f"({raw} IS NULL OR {value} IS NOT NULL)" for (_, raw), value in zip(there, values, strict=True)
    )
    return engine.sql(
        f"SELECT * FROM (SELECT {selected} FROM {source} WHERE {right}) WHERE {where}"
    ).to_arrow_table()


def _written(name: str, kind: str) -> tuple[str, str]:
    """A key of a JSON object: its text where it is written as the type is, and whether there is any."""
    path = "'$.\"" + name.replace("'", "''") + "\"'"
    if kind in INTEGERS or kind.startswith(("DECIMAL", UNIX)):
        forms = f"{NUMBERS}, 'VARCHAR'"
    elif kind in FLOATS:
        forms = NUMBERS
    else:
        forms = "'BOOLEAN'" if kind == "BOOLEAN" else "'VARCHAR'"
    fits = f"json_type(_row, {path}) IN ({forms})"
    if kind in FLOATS:
        fits += f" OR _row->>{path} IN ('NaN', 'Infinity', '-Infinity')"
    raw = f"(_row->>{path})"
    return (f"from_base64({raw})" if kind == "BINARY" else f"CASE WHEN {fits} THEN {raw} END"), raw


def _value(text: str, kind: str) -> str:
    """As the type, null where it does not fit; nothing is rounded but the digits of a time."""
    exact = f"TRY_CAST({text} AS DECIMAL(38, 18))"
    if kind in INTEGERS:
        return f"CASE WHEN {exact} = trunc({exact}) THEN TRY_CAST({exact} AS {DUCK.get(kind, kind)}) END"
    if kind.startswith(UNIX):
        return _moment(text, {"s": 1_000_000, "ms": 1000, "us": 1}[kind.removeprefix(UNIX)])
    if kind.startswith("DECIMAL"):
        return f"CASE WHEN {exact} = TRY_CAST({exact} AS {kind}) THEN TRY_CAST({exact} AS {kind}) END"
    if kind in ISO_8601:
        return _time(text, kind)
    if kind == "BINARY":
        return f"TRY({text})"
    return f"TRY_CAST({text} AS {DUCK.get(kind, kind)})"


def _time(text: str, kind: str) -> str:
    """Text of ISO 8601, or what has the type of a time."""
    words = f"trim(CAST({text} AS VARCHAR), chr(9) || chr(10) || chr(13) || ' ')"
    whole = f"regexp_replace({words}, '([T ]\\d\\d)$', '\\1:00')"
    day = kind == "DATE"
    cast = "DATE" if day else "TIMESTAMPTZ"
    of_text = f"CASE WHEN regexp_full_match({words}, '{ISO_8601[kind]}') THEN TRY_CAST({whole} AS {cast}) END"
    cut = f"make_timestamp(epoch_ns(TRY_CAST({text} AS TIMESTAMP_NS)) // 1000)"
    typed = f"CASE typeof({text}) WHEN 'VARCHAR' THEN {of_text} ELSE TRY_CAST({text} AS {cast}) END"
    instant = f"CASE typeof({text}) WHEN 'TIMESTAMP_NS' THEN {cut} ELSE CAST({typed} AS TIMESTAMP) END"
    time = typed if day else instant
    return f"CASE WHEN year({time}) BETWEEN 1 AND 9999 THEN {time} END"


def _moment(text: str, microseconds: int) -> str:
    """A whole number since 1970, or what has the type of a time."""
    words = f"CAST({text} AS VARCHAR)"
    number = f"TRY_CAST({words} AS DECIMAL(38, 18))"
    whole = f"TRY_CAST(CASE WHEN {number} = trunc({number}) THEN {number} END AS HUGEINT) * {microseconds}"
    time = f"typeof({text}) = 'DATE' OR starts_with(typeof({text}), 'TIMESTAMP')"
    moment = f"CASE WHEN {whole} {FROM_YEAR_1_TO_9999} THEN make_timestamp(CAST({whole} AS BIGINT)) END"
    return f"CASE WHEN {time} THEN TRY_CAST({words} AS TIMESTAMP) ELSE {moment} END"


def _nothing(columns: Sequence[tuple[str, str]]) -> pa.Table:
    kinds = ", ".join(
        f"CAST(NULL AS {'TIMESTAMP' if kind.startswith(UNIX) else DUCK.get(kind, kind)}) AS {_quoted(name)}"
        for name, kind in columns
    )
    with duckdb.connect() as engine:
        return engine.sql(f"SELECT {kinds} LIMIT 0").to_arrow_table()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
