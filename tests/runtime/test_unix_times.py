"""Times as numbers since 1970: only in columns whose unit the source names, the same in every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from weir_placement.model.fragment import FragmentError, Input, TypedColumn
from weir_placement.model.operators import Item, Project, Union
from weir_runtime.arrow_types import arrow_schema
from weir_runtime.audit import audit
from weir_runtime.names import END
from weir_runtime.sources import source_log
from weir_runtime.sources.kafka.intake import Messages
from weir_runtime.sources.kafka.log import KafkaLog

from tests.runtime.support import files_output, fragment, launch, sink_rows, source

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SECONDS = 1_769_860_800
COLUMNS = (TypedColumn("ts", "TIMESTAMP"), TypedColumn("seen", "TIMESTAMP"))
Rows = list[dict[str, Any]]


def _csv(path: Path, rows: Rows) -> None:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def _json(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


FORMATS: dict[str, Callable[[Path, Rows], None]] = {
    "csv": _csv,
    "json": _json,
    "parquet": lambda path, rows: pq.write_table(pa.Table.from_pylist(rows), path),
    "arrow": lambda path, rows: pyarrow.feather.write_feather(pa.Table.from_pylist(rows), str(path)),
}


def of_files(folder: Path, form: str, rows: Rows, units: Mapping[str, str], **changes: Any) -> Any:
    """The rows of a file of a format, and the reasons for those that cannot be read."""
    FORMATS[form](folder / f"0000000000.{form}", rows)
    options = {"uri": str(folder), "format": form, "unixTimes": units}
    item: Input = replace(source("a", folder), source={"files": options}, columns=COLUMNS, **changes)
    log = source_log(item, str(folder / "late"))
    end = log.advance(log.start(), 0, 64).place
    batches = log.read(log.start(), end)
    values = [row for batch in batches for row in batch.drop_columns(["_id"]).to_pylist()]
    letters = sorted((folder / "late" / "bad").glob("*"))
    return values, [row["reason"] for path in letters for row in pq.read_table(path).to_pylist()]


def of_topic(folder: Path, form: str, rows: Rows, units: Mapping[str, str]) -> Any:
    """The same of a topic's messages."""
    options = {"bootstrapServers": "none:9092", "topic": "t", "unixTimes": units}
    log = source_log(Input("a", "source", "d/a", {"kafka": options}, COLUMNS, "ts"), "")
    assert isinstance(log, KafkaLog)
    messages = Messages(0)
    for offset, row in enumerate(rows):
        messages.offsets.append(offset)
        messages.values.append(json.dumps(row).encode())
    parsed = log._rows.parse(messages, None)
    return parsed.rows.to_pylist(), [row.reason for row in parsed.bad]


READERS = [*((of_files, form) for form in FORMATS), (of_topic, "kafka")]
by_format = pytest.mark.parametrize(("read", "form"), READERS, ids=[form for _, form in READERS])


@by_format
@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 1_000_000)])
def test_a_number_is_a_moment_in_the_unit_that_is_declared(
    tmp_path: Path, read: Callable[..., Any], form: str, unit: str, factor: int
) -> None:
    rows = [{"ts": SECONDS * factor, "seen": -factor}]
    values, reasons = read(tmp_path, form, rows, {"ts": unit, "seen": unit})
    assert values == [{"ts": NOON, "seen": datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)}]
    assert reasons == []


@by_format
def test_digits_of_milliseconds_are_kept(tmp_path: Path, read: Callable[..., Any], form: str) -> None:
    rows = [{"ts": SECONDS * 1000 + 123, "seen": SECONDS * 1000}]
    (row,), _ = read(tmp_path, form, rows, {"ts": "ms", "seen": "ms"})
    assert row["ts"] == NOON.replace(microsecond=123_000)


@by_format
def test_each_column_has_its_own_form(tmp_path: Path, read: Callable[..., Any], form: str) -> None:
    rows = [{"ts": SECONDS * 1000, "seen": "2026-01-31T13:00:00+01:00"}]
    values, _ = read(tmp_path, form, rows, {"ts": "ms"})
    assert values == [{"ts": NOON, "seen": NOON}]


@by_format
def test_a_number_whose_unit_nobody_names_is_a_bad_row(
    tmp_path: Path, read: Callable[..., Any], form: str
) -> None:
    values, (reason,) = read(tmp_path, form, [{"ts": SECONDS * 1000, "seen": SECONDS * 1000}], {})
    assert values == []
    assert "unixTimes" in reason


@by_format
@pytest.mark.parametrize(
    ("unit", "number", "shown"),
    [
        ("ms", SECONDS, "ts: 1769860800 ms since 1970 is in 1970: unixTimes says ms; is it s?"),
        ("us", SECONDS * 1000, "ts: 1769860800000 us since 1970 is in 1970: unixTimes says us; is it ms?"),
    ],
)
def test_an_event_time_in_another_unit_is_a_bad_row(
    tmp_path: Path, read: Callable[..., Any], form: str, unit: str, number: int, shown: str
) -> None:
    rows = [{"ts": number, "seen": SECONDS * 1000}]
    values, reasons = read(tmp_path, form, rows, {"ts": unit, "seen": "ms"})
    assert (values, reasons) == ([], [shown])


@by_format
def test_milliseconds_given_as_seconds_are_bad_rows(
    tmp_path: Path, read: Callable[..., Any], form: str
) -> None:
    values, (reason,) = read(tmp_path, form, [{"ts": SECONDS * 1000, "seen": 0}], {"ts": "s", "seen": "s"})
    assert values == []
    assert reason.startswith("column ts: 1769860800000 ")
    assert reason.endswith("; write a whole number of seconds since 1970, as unixTimes says")


@by_format
def test_other_columns_have_times_of_the_years_1_to_9999(
    tmp_path: Path, read: Callable[..., Any], form: str
) -> None:
    rows = [{"ts": SECONDS, "seen": second} for second in (-62_135_596_800, 253_402_300_799, 253_402_300_800)]
    values, (reason,) = read(tmp_path, form, rows, {"ts": "s", "seen": "s"})
    assert [row["seen"].year for row in values] == [1, 9999]
    assert reason.startswith("column seen: 253402300800 ")


@by_format
@pytest.mark.parametrize("value", [1769860800000.5, "noon", "2026-01-31T12:00:00Z"])
def test_what_is_no_whole_number_is_a_bad_row(
    tmp_path: Path, read: Callable[..., Any], form: str, value: Any
) -> None:
    values, (reason,) = read(tmp_path, form, [{"ts": value, "seen": 0}], {"ts": "ms", "seen": "ms"})
    assert values == []
    assert reason.startswith("column ts: ")
    assert str(value) in reason
    assert reason.endswith("; write a whole number of milliseconds since 1970, as unixTimes says")


def test_milliseconds_that_are_too_far_ahead_are_bad(tmp_path: Path) -> None:
    rows = [{"ts": 4_000_000_000_000, "seen": 0}, {"ts": SECONDS * 1000, "seen": 0}]
    values, (reason,) = of_files(tmp_path, "csv", rows, {"ts": "ms", "seen": "ms"}, max_ahead=86_400_000_000)
    assert [row["ts"] for row in values] == [NOON]
    assert "ts 2096-10-02T07:06:40+00:00 is too far ahead of the wall clock" in reason


def test_a_unit_is_of_a_column_that_is_a_time() -> None:
    with pytest.raises(FragmentError, match=r"unixTimes\.other: no column other"):
        arrow_schema(COLUMNS, "columns", {"other": "ms"})
    with pytest.raises(FragmentError, match=r"unixTimes\.ts: 'hours'"):
        arrow_schema(COLUMNS, "columns", {"ts": "hours"})


def test_a_query_over_numbers_of_every_format_is_right_to_the_row(tmp_path: Path) -> None:
    """On Spark, against the judge, who reads the files by another library."""
    inputs, operators, forms = [], [], ("csv", "json", "parquet")
    for i, form in enumerate(forms):
        folder = tmp_path / form
        folder.mkdir()
        rows = [{"ts": 1000 * (SECONDS + second) + i, "seen": second} for second in range(30)]
        FORMATS[form](folder / f"0000000000.{form}", [*rows, {"ts": SECONDS, "seen": 0}])
        (folder / END).touch()
        options = {"uri": str(folder), "format": form, "unixTimes": {"ts": "ms", "seen": "s"}}
        inputs.append(replace(source(form, folder), source={"files": options}, columns=COLUMNS))
        columns = (f"{form}.ts", f"{form}.seen")
        items = (Item("ts", columns[0]), Item("seen", columns[1]))
        operators.append(Project(f"p_{form}", (form,), columns=columns, items=items))
    union = Union("u", tuple(f"p_{form}" for form in forms))
    output = files_output(tmp_path / "out", "ts", "seen")
    spec = fragment(tmp_path, "f", inputs, [*operators, union], output)
    assert launch(spec).wait(120) == 0
    moments = [row[0] for row in sink_rows(tmp_path / "out")]
    assert (len(moments), min(moments), max(moments).microsecond) == (90, NOON, 2000)
    verdict = audit(spec)
    assert verdict.good
    bad = [*(tmp_path / "late").rglob("bad/*.parquet")]
    assert len(bad) == len(forms)  # the seconds among the milliseconds
