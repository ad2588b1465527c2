"""The table of times in docs/files.md is what sources do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import TypedColumn
from weir_runtime.arrow_types import arrow_schema
from weir_runtime.logs import csv_rows, json_rows
from weir_runtime.logs.bad_rows import Parsed

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
SECTION = PAGE.partition("## Times\n")[2].partition("\n## ")[0]
ROWS = re.findall(r"^\| (`.*) \| (.*) \|$", SECTION.partition("\n\nNumbers since")[0], re.M)
WRITTEN = [(time, meaning) for times, meaning in ROWS for time in re.findall(r"`([^`]*)`", times)]
SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC"))])


def of_csv(time: str) -> Parsed:
    return csv_rows.parse(f"ts\n{time}\n".encode(), SCHEMA, "ts", None)


def of_json(time: str) -> Parsed:
    return json_rows.parse([json.dumps({"ts": time}).encode()], SCHEMA, "ts", None)


@pytest.mark.parametrize("parse", [of_csv, of_json])
@pytest.mark.parametrize(("time", "meaning"), WRITTEN, ids=[time for time, _ in WRITTEN])
def test_times_are_read_as_the_page_says(time: str, meaning: str, parse: Callable[[str], Parsed]) -> None:
    parsed = parse(time)
    assert bool(parsed.bad) == meaning.startswith("bad rows")
    moments = {"noon": 12, "midnight": 0, "digits": 12, "the same moment": 12}
    hours = [hour for beginning, hour in moments.items() if meaning.startswith(beginning)]
    for hour in hours:
        (row,) = parsed.rows.column("ts").to_pylist()
        assert row.replace(microsecond=0) == datetime(2026, 1, 31, hour, tzinfo=UTC)
    assert hours or parsed.bad


UNIX = re.findall(r"`(\d[^`]*)`", SECTION.partition("`unixTimes: {at: ms}` |")[2])


@pytest.mark.parametrize("number", UNIX)
def test_numbers_are_read_as_the_page_says(number: str) -> None:
    """The last table's; its first line is what can be read."""
    schema = arrow_schema((TypedColumn("at", "TIMESTAMP"),), "", {"at": "ms"})
    for parsed in (
        csv_rows.parse(f"at\n{number}\n".encode(), schema, "at", None),
        json_rows.parse([f'{{"at": "{number}"}}'.encode()], schema, "at", None),
    ):
        if number in UNIX[:2]:
            assert parsed.rows.column("at").to_pylist() == [datetime(2026, 1, 31, 12, tzinfo=UTC)]
        else:
            assert (parsed.rows.num_rows, len(parsed.bad)) == (0, 1)


def test_the_table_is_found() -> None:
    assert len(WRITTEN) == 15
    assert len(UNIX) == 6
