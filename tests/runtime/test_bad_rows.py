"""A row that cannot be read stops no query: it goes to the dead letters, with its bytes and the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime.logs import json_rows
from weir_runtime.logs.bad_rows import Unreadable, isolate
from weir_runtime.logs.dead_letters import BadRows
from weir_runtime.logs.file_rows import file_row_ids
from weir_runtime.names import END
from weir_runtime.side_log import query_of
from weir_runtime.sources import source_log

from tests.runtime.support import ORIGIN, SCHEMA, files_output, fragment, launch, sink_rows, source, wait_for

DAY = 86_400_000_000
TS = "2023-11-14T22:13:20"


def text_input(root: Path, form: str, *types: str, **changes: Any) -> Input:
    """Columns c0, c1, ... of these types and ts."""
    columns = (*(TypedColumn(f"c{i}", name) for i, name in enumerate(types)), TypedColumn("ts", "TIMESTAMP"))
    return replace(
        source("a", root), source={"files": {"uri": str(root), "format": form}}, columns=columns, **changes
    )


def read(item: Input, sidelog: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """The rows of a whole log as its advance and its read give them, its dead letters, and their count."""
    log = source_log(item, str(sidelog))
    start = log.start()
    end = log.advance(start, 0, 64).place
    rows = [row for batch in log.read(start, end) for row in batch.drop_columns(["_id"]).to_pylist()]
    letters = [row for path in sorted((sidelog / "bad").glob("*")) for row in pq.read_table(path).to_pylist()]
    return rows, letters, log.bad(start, end)


def values(rows: list[dict[str, Any]]) -> list[Any]:
    return [row["c0"] for row in rows]


JSON = [
    ("BIGINT", ["7", "7.0", '"7"', "7e0"], [7, 7, 7, 7], ["7.5", '"x"', "true", "{}", "9223372036854775808"]),
    ("TINYINT", ["7"], [7], ["300"]),
    ("DOUBLE", ["7", "0.5", '"NaN"', '"-Infinity"'], [7.0, 0.5, "nan", "-inf"], ['"x"', "1e400"]),
    ("STRING", ['"NA"', '""', '"a\\nb"'], ["NA", "", "a\nb"], ["7", '"\\ud800"']),
    ("BOOLEAN", ["true"], [True], ["1", '"true"']),
    ("DATE", ['"2026-01-31"'], ["2026-01-31"], ["20484", '"2026-02-30"']),
    ("DECIMAL(5,2)", ["1.5", '"1.50"'], ["1.50", "1.50"], ["1.505", "12345.6"]),
    ("BINARY", ['"AAE="'], ["b'\\x00\\x01'"], ['"?"', "7"]),
    (
        "TIMESTAMP",
        ['"2026-01-31T12:00:00.123456789Z"', '"2026-01-31 14:00:00+02:00"', '"2026-01-31"'],
        ["2026-01-31 12:00:00.123456+00:00", "2026-01-31 12:00:00+00:00", "2026-01-31 00:00:00+00:00"],
        ["1769860800000", '"noon"'],
    ),
]


@pytest.mark.parametrize(("kind", "good", "expected", "bad"), JSON, ids=[case[0] for case in JSON])
def test_json_has_these_types(
    tmp_path: Path, kind: str, good: list[str], expected: list[Any], bad: list[str]
) -> None:
    lines = [f'{{"c0": {value}, "ts": "{TS}", "else": 1}}' for value in [*good, *bad, "null"]]
    (tmp_path / "0000000000.json").write_text("\n".join(lines))
    rows, letters, count = read(text_input(tmp_path, "json", kind), tmp_path / "late")
    plain = (bool, int) if kind in ("BIGINT", "TINYINT", "BOOLEAN") else ()
    shown = [v if isinstance(v, plain) else str(v) for v in values(rows)[:-1]]
    assert shown == [v if isinstance(v, plain) else str(v) for v in expected]
    assert values(rows)[-1] is None
    assert [letter["row"].decode() for letter in letters] == lines[len(good) : -1]
    assert [letter["offset"] for letter in letters] == list(range(len(good), len(lines) - 1))
    assert count == len(bad)


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"7",
        b"[]",
        b"{",
        b'{"c0": 1',
        b'{"c0": 1} {"c0": 2}',
        b'{"c0": 1} null {"c0": 2}',
        b'{"c0": "\xff"}',
    ],
)
def test_what_is_no_json_object_harms_no_other_row(tmp_path: Path, line: bytes) -> None:
    good = [f'{{"c0": "{i}", "ts": "{TS}"}}'.encode() for i in range(3)]
    (tmp_path / "0000000000.json").write_bytes(b"\n".join([good[0], line, *good[1:]]))
    rows, letters, _ = read(text_input(tmp_path, "json", "STRING"), tmp_path / "late")
    assert values(rows) == ["0", "1", "2"]
    assert [letter["row"] for letter in letters] == [line]


def test_a_column_of_no_interest_may_change_its_type_and_rows_may_be_long(tmp_path: Path) -> None:
    others = [7, "x", [1], {"y": 2}, "z" * 3_000_000]
    lines = [json.dumps({"c0": i, "ts": TS, "else": value}) for i, value in enumerate(others)]
    (tmp_path / "0000000000.json").write_text("\n".join(lines))
    rows, letters, _ = read(text_input(tmp_path, "json", "BIGINT"), tmp_path / "late")
    assert (values(rows), letters) == ([0, 1, 2, 3, 4], [])


def test_csv_has_null_where_nothing_is_written_and_nowhere_else(tmp_path: Path) -> None:
    words = ["NA", "null", '""', "", '"a ""b"" c"', '"two\nlines"', "nan", 'x"y']
    lines = "".join(f"{word},{TS}Z\n" for word in words)
    (tmp_path / "0000000000.csv").write_text(f"c0,ts\n{lines}")
    rows, letters, _ = read(text_input(tmp_path, "csv", "STRING"), tmp_path / "late")
    assert values(rows) == ["NA", "null", "", None, 'a "b" c', "two\nlines", "nan", 'x"y']
    assert letters == []


def test_bad_rows_of_a_csv_file(tmp_path: Path) -> None:
    bad = ["NA", "1.5", "1,2", '"two\nlines"']
    lines = [f"{word},{TS}\n" for word in ["1", bad[0], "2.0", "", *bad[1:], "3"]]
    (tmp_path / "0000000000.csv").write_text("c0,ts\n" + "".join(lines))
    rows, letters, count = read(text_input(tmp_path, "csv", "BIGINT"), tmp_path / "late")
    assert values(rows) == [1, 2, None, 3]
    assert [letter["row"].decode() for letter in letters] == [f"{word},{TS}\n" for word in bad]
    assert count == 4


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("kind", "column", "expected", "bad"),
    [
        ("BIGINT", pa.array([1.0, 2.5, 3.0]), [1, 3], 1),
        ("TINYINT", pa.array([1, 300, None], pa.int64()), [1, None], 1),
        ("DATE", pa.array(["2026-01-31", "x"]), ["2026-01-31"], 1),
        ("STRING", pa.array(["a", "b"]).dictionary_encode(), ["a", "b"], 0),
        (
            "TIMESTAMP",
            pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")),
            ["2023-11-14 22:13:20.123456+00:00"],
            0,
        ),
    ],
    ids=str,
)
def test_columnar_files_have_types_of_their_own(
    tmp_path: Path, form: str, kind: str, column: pa.Array, expected: list[Any], bad: int
) -> None:
    table = pa.table({"c0": column, "ts": pa.array([ORIGIN] * len(column), pa.timestamp("us"))})
    write(tmp_path / f"0000000000.{form}", table)
    rows, letters, count = read(text_input(tmp_path, form, kind), tmp_path / "late")
    assert list(map(str, values(rows))) == list(map(str, expected))
    assert len(letters) == count == bad


FAR = 1_700_000_000_000_000_000
"""Nanoseconds since 1970, and where they are taken for microseconds a time in the year 55,840."""


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("kind", "column", "written"),
    [
        ("TIMESTAMP", pa.array([FAR], pa.timestamp("us", "UTC")), FAR),
        ("TIMESTAMP", pa.array([-FAR], pa.timestamp("us", "UTC")), -FAR),
        ("TIMESTAMP", pa.array([ORIGIN], pa.timestamp("ms")), ORIGIN),
        ("TIMESTAMP", pa.array([2**60], pa.timestamp("s")), 2**60),
        ("TIMESTAMP_NTZ", pa.array([FAR], pa.timestamp("us")), FAR),
        ("TIMESTAMP", pa.array([2**31 - 1], pa.date32()), 2**31 - 1),
        ("DATE", pa.array([2**31 - 1], pa.date32()), 2**31 - 1),
        ("DATE", pa.array([-(2**31)], pa.date32()), -(2**31)),
        ("DATE", pa.array([FAR], pa.timestamp("us")), FAR),
    ],
    ids=str,
)
def test_a_time_beyond_the_year_9999_is_a_bad_row(
    tmp_path: Path, form: str, kind: str, column: pa.Array, written: int
) -> None:
    """In any column, and its letter has the number: Python has no such time."""
    good = pa.array([None], column.type)
    table = pa.table(
        {"c0": pa.concat_arrays([good, column]), "ts": pa.array([ORIGIN] * 2, pa.timestamp("us"))}
    )
    try:
        write(tmp_path / f"0000000000.{form}", table)
    except pa.ArrowInvalid:
        assert (form, column.type) == ("parquet", pa.timestamp("s")), "Parquet has no seconds"
        return
    rows, (letter,), count = read(text_input(tmp_path, form, kind), tmp_path / "late")
    assert (values(rows), letter["offset"], count) == ([None], 1, 1)
    assert "years 1 to 9999" in letter["reason"] or "out of bounds" in letter["reason"]
    assert json.loads(letter["row"])["c0"] in (written, written * 1000)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "times",
    [
        pa.array([ORIGIN, FAR], pa.timestamp("us", "UTC")),
        pa.array([ORIGIN, FAR], pa.timestamp("us")),
        pa.array([ORIGIN, -FAR], pa.timestamp("us", "UTC")),
        pa.array([ORIGIN // 1000, ORIGIN], pa.timestamp("ms", "UTC")),
    ],
    ids=str,
)
def test_an_event_time_of_another_unit_is_a_bad_row(tmp_path: Path, form: str, times: pa.Array) -> None:
    write(tmp_path / f"0000000000.{form}", pa.table({"c0": [1, 2], "ts": times}))
    rows, (letter,), count = read(text_input(tmp_path, form, "BIGINT"), tmp_path / "late")
    assert (values(rows), letter["offset"], count) == ([1], 1, 1)
    assert json.loads(letter["row"]) == {"c0": 2, "ts": times.cast(pa.int64())[1].as_py()}


@pytest.mark.parametrize(
    ("kind", "type_of_it", "far"),
    [("TIMESTAMP", pa.timestamp("us"), FAR), ("DATE", pa.date32(), 2**31 - 1), ("BINARY", pa.binary(), None)],
    ids=str,
)
def test_a_row_without_an_event_time_may_have_any_other(
    tmp_path: Path, kind: str, type_of_it: pa.DataType, far: int | None
) -> None:
    """Also where its event time is in a zone that nobody knows."""
    times = pa.array([ORIGIN, None, -1], pa.timestamp("us", "Not/AZone"))
    write(
        tmp_path / "0000000000.arrow", pa.table({"c0": pa.array([None, far, None], type_of_it), "ts": times})
    )
    rows, letters, _ = read(text_input(tmp_path, "arrow", kind), tmp_path / "late")
    assert (len(rows), [letter["offset"] for letter in letters]) == (1, [1, 2])
    assert [json.loads(letter["row"]) for letter in letters] == [
        {"c0": far, "ts": None},
        {"c0": None, "ts": -1},
    ]


def write(path: Path, table: pa.Table) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)


def milliseconds(path: Path) -> None:
    write(path, pa.table({"c0": [1], "ts": [ORIGIN // 1000]}))


def lacking(path: Path) -> None:
    write(path, pa.table({"ts": pa.array([ORIGIN], pa.timestamp("us"))}))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("spoil", [milliseconds, lacking, lambda path: path.write_bytes(b"rubbish")])
def test_a_file_that_cannot_be_read_is_one_bad_row(
    tmp_path: Path, form: str, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / f"0000000000.{form}")
    good = pa.table({"c0": [7], "ts": pa.array([ORIGIN], pa.timestamp("us"))})
    write(tmp_path / f"0000000001.{form}", good)
    rows, letters, count = read(text_input(tmp_path, form, "BIGINT"), tmp_path / "late")
    assert values(rows) == [7]
    assert [(letter["offset"], letter["row"]) for letter in letters] == [(None, b"")]
    assert count == 1


def test_a_row_far_ahead_of_the_wall_clock_is_bad_and_makes_no_other_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = ORIGIN + 100
    monkeypatch.setattr("weir_runtime.logs.wall_clock.time.time_ns", lambda: now * 1000)
    times = [1, 2 * DAY, 2, DAY + 100, 3]
    table = pa.table({"c0": list(range(5)), "ts": pa.array([ORIGIN + t for t in times], pa.timestamp("us"))})
    write(tmp_path / "0000000000.parquet", table)
    item = text_input(tmp_path, "parquet", "BIGINT", max_ahead=DAY, delay=10 * DAY)
    log = source_log(item, str(tmp_path / "late"))
    start = log.start()
    end = log.advance(start, 0, 64).place
    assert (end["max"], end["bad"]) == (ORIGIN + DAY + 100, 1)
    now += 10 * DAY  # a replay decides as it was decided
    ids = [row["c0"] for batch in log.read(start, end) for row in batch.to_pylist()]
    assert ids == [0, 2, 3, 4]
    letter = pq.read_table(tmp_path / "late" / "bad" / "0000000000.parquet").to_pylist()[0]
    assert "too far ahead of the wall clock" in letter["reason"]
    assert json.loads(letter["row"])["c0"] == 1


def test_places_without_bad_rows_are_as_they_always_were(tmp_path: Path) -> None:
    table = pa.table({"c0": [1], "ts": pa.array([ORIGIN], pa.timestamp("us"))})
    write(tmp_path / "0000000000.parquet", table)
    log = source_log(text_input(tmp_path, "parquet", "BIGINT", max_ahead=0), "")
    assert log.advance({"next": 0, "max": None}, 0, 64).place == {"next": 1, "max": ORIGIN}


def test_a_stream_may_want_to_fail(tmp_path: Path) -> None:
    (tmp_path / "0000000000.json").write_text('{"c0": "x"}\n')
    log = source_log(text_input(tmp_path, "json", "BIGINT", bad_rows={"onBadRow": "Fail"}), "")
    with pytest.raises(ValueError, match=r"0000000000\.json, row 1: .*onBadRow: Fail"):
        log.advance(log.start(), 0, 64)


def test_dead_letters_go_where_the_stream_says(tmp_path: Path) -> None:
    (tmp_path / "0000000000.json").write_text("x\n")
    place = {"deadLetter": {"files": {"uri": str(tmp_path / "dead")}}}
    item = text_input(tmp_path, "json", "BIGINT", bad_rows=place)
    assert read(item, tmp_path / "late" / "f" / "a")[2] == 1
    letter = pq.read_table(tmp_path / "dead" / "f" / "a" / "0000000000.parquet").to_pylist()[0]
    assert letter == {
        "source": str(tmp_path / "0000000000.json"),
        "offset": 0,
        "reason": "not a JSON object",
        "row": b"x",
    }


@given(st.sets(st.integers(0, 40)), st.integers(0, 41))
def test_exactly_the_bad_rows_are_found(bad: set[int], count: int) -> None:
    def parse(low: int, high: int) -> pa.Table:
        if wrong := bad & set(range(low, high)):
            raise Unreadable(str(min(wrong)))
        return pa.table({"i": pa.array(range(low, high), pa.int64())})

    parsed = isolate(count, parse, lambda i: str(i).encode())
    good = [i for i in range(count) if i not in bad]
    assert parsed.rows.column("i").to_pylist() == parsed.positions.tolist() == good
    assert [(row.position, row.raw) for row in parsed.bad] == [
        (i, str(i).encode()) for i in range(count) if i in bad
    ]


WORDS = ["7", "7.0", '"7"', "x", "null", "7.5", "1e3", "true", "{}", "-0", "9e18", '"9223372036854775807"']


@given(
    st.lists(st.sampled_from([*(f'{{"k": {w}, "v": 1, "ts": "{TS}"}}' for w in WORDS), "", "null", "{}{}"]))
)
def test_a_row_is_read_the_same_among_any_others(lines: list[str]) -> None:
    records = [line.encode() for line in lines]
    together = json_rows.parse(records, SCHEMA, "ts", None)
    alone = [json_rows.parse([record], SCHEMA, "ts", None) for record in records]
    assert together.rows.to_pylist() == [row for one in alone for row in one.rows.to_pylist()]
    assert [row.position for row in together.bad] == [i for i, one in enumerate(alone) if one.bad]


def test_no_two_rows_of_a_file_have_one_id() -> None:
    positions = [0, 2**24 - 1, 2**24, 2**24 + 1, 2**25, 2**30 - 1]
    ids = [
        file_row_ids(n, pa.array(positions, pa.uint64()).to_numpy()).to_pylist() for n in (0, 1, 10**10 - 1)
    ]
    flat = [one for row in ids for one in row]
    assert len(set(flat)) == len(flat)
    assert ids[1][0] == (1 << 24).to_bytes(8), "as it was"
    with pytest.raises(ValueError, match="write several files"):
        file_row_ids(0, pa.array([2**30], pa.uint64()).to_numpy())


def test_a_query_goes_on_past_bad_rows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    lines = [f'{{"c0": {i}, "ts": "2023-11-14T22:13:{20 + i}Z"}}' for i in range(9)]
    lines[4:4] = ["", "null", '{"c0": "x", "ts": 7}', '{"c0": 99, "ts": "2099-01-01T00:00:00Z"}']
    (log / "0000000000.json").write_text("\n".join(lines[:6]))
    (log / "0000000001.json").write_text("\n".join(lines[6:]))
    (log / END).touch()
    item = text_input(log, "json", "BIGINT", max_ahead=DAY)
    spec = fragment(tmp_path, "f", [item], [], files_output(tmp_path / "out", "a.c0"))
    process = launch(spec)
    assert process.wait(120) == 0
    assert sink_rows(tmp_path / "out") == [(i,) for i in range(9)]
    assert BadRows().limit(0) is None
    wait_for(lambda: len(list((tmp_path / "late" / "f" / "a" / "bad").iterdir())) == 2, "dead letters")
    assert query_of(tmp_path / "late" / "f") == "default/q", "so that they stay as long as it does"
