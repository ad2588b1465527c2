"""The judge reads a source's files by another library, and comes to the same rows."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime import audit_logs
from weir_runtime.audit import audit
from weir_runtime.names import END
from weir_runtime.sources import source_log
from weir_runtime.sources.files import FileLog

from tests.runtime.support import ORIGIN, files_output, fragment, source

UNIX = {"UNIX s": "s", "UNIX ms": "ms", "UNIX us": "us"}
KINDS = ["BIGINT", "TINYINT", "DOUBLE", "STRING", "BOOLEAN", "DATE", "DECIMAL(5,2)", "TIMESTAMP", *UNIX]
TS = "2023-11-14T22:13:20"
WORDS = ["7", "7.0", "7.5", "300", "12345.6", "1.50", "NA", "null", "true", "2026-01-31", "2026-02-30",
         "noon", "2026-01-31T12:00:00.123456789Z", "2026-01-31 14:00:00+02:00", "",
         "9223372036854775807", "1769860800", "-1769860800000"]  # fmt: skip
DAYS = ["2026-01-31", "2026-1-3", "2026-02-30", "2026-06-30", "0001-01-01", "9999-12-31", "02026-01-31",
        "+2026-01-31", "2026/01/31", "20260131", " 2026-01-31", "2026-031", "epoch"]  # fmt: skip
HOURS = ["", "T12:00:00", " 12:00:00", "T12:00", "T12", "T1:02:03", "T12:60:00", "T24:00:00", "T23:59:60",
         "T12:00:00.1", "T12:00:00.123456789", "T12:00:00,5",
         "T12:00:00.", "t12:00:00", "T120000", "  12:00:00"]  # fmt: skip
ZONES = ["", "Z", "z", " Z", " UTC", "+01:00", "-0230", "+02", "+00", "-00:00", "+00:00Z", "+14:00", "+15:59",
         "+23:59", "+24:00", "+01:60", "+1:00", " +01:00", " Europe/Berlin", " (BC)", " "]  # fmt: skip
TIMES = st.tuples(*map(st.sampled_from, (DAYS, HOURS, ZONES))).map("".join)
JSON = [*(f'"{word}"' for word in WORDS), "7", "7.0", "7.5", "300", "true", "null", "[7]", '{"x": 7}']


def rows_of_both(folder: Path, form: str, kind: str) -> tuple[list[Any], list[Any]]:
    """Column c0 as the judge and as a query reads it."""
    units = {"c0": UNIX[kind]} if kind in UNIX else {}
    kind = "TIMESTAMP" if units else kind
    files = {"uri": str(folder), "format": form, "unixTimes": units}
    item = Input(
        "a",
        "source",
        "d/a",
        {"files": files},
        (TypedColumn("c0", kind), TypedColumn("ts", "TIMESTAMP")),
        "ts",
    )
    log = source_log(item, "")
    start = log.start()
    read = [row for batch in log.read(start, log.advance(start, 0, 64).place) for row in batch.to_pylist()]
    judged = audit_logs.log_rows(files, [("c0", kind), ("ts", "TIMESTAMP")], "ts").to_pylist()
    return [plain(row["c0"]) for row in judged], [plain(row["c0"]) for row in read]


def plain(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.lists(st.sampled_from(JSON), max_size=8))
def test_json(kind: str, words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(f'{{"c0": {word}, "ts": "{TS}"}}\n' for word in words)
        (Path(folder) / "0000000000.json").write_text(text + "null\n{\n")
        (Path(folder) / END).touch()
        judged, read = rows_of_both(Path(folder), "json", kind)
    assert judged == read


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS), st.lists(st.sampled_from([*WORDS, '""', '"a, ""b"""', '"7"', "1,2"]), max_size=8)
)
def test_csv(kind: str, words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "0000000000.csv").write_text("c0,ts\n" + "".join(f"{word},{TS}\n" for word in words))
        (Path(folder) / END).touch()
        judged, read = rows_of_both(Path(folder), "csv", kind)
    assert judged == read


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["TIMESTAMP", "TIMESTAMP_NTZ", "DATE"]),
    st.sampled_from(["csv", "json"]),
    st.lists(TIMES, min_size=1, max_size=20),
)
def test_texts_of_times(kind: str, form: str, texts: list[str]) -> None:
    head, row = ("c0,ts\n", '"{}",{}\n') if form == "csv" else ("", '{{"c0": "{}", "ts": "{}"}}\n')
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(row.format(text, TS) for text in texts)
        (Path(folder) / f"0000000000.{form}").write_text(head + rows)
        (Path(folder) / END).touch()
        judged, read = rows_of_both(Path(folder), form, kind)
    assert judged == read


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("BIGINT", pa.array([1.0, 2.5, None])),
        ("TINYINT", pa.array([1, 300, None])),
        ("TIMESTAMP", pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns"))),
        ("UNIX ms", pa.array([1_700_000_000_123_456_789, None], pa.timestamp("ns"))),
        ("UNIX ms", pa.array([1_700_000_000_123, -1, 2**62, None])),
        ("UNIX s", pa.array([1_700_000_000.0, 1_700_000_000.5, None])),
        ("UNIX us", pa.array(["1700000000000000", "noon", TS, None])),
        ("STRING", pa.array(["a", "", None])),
        ("DATE", pa.array(["2026-01-31", "x"])),
    ],
    ids=str,
)
def test_columns_with_types(tmp_path: Path, form: str, kind: str, column: pa.Array) -> None:
    table = pa.table({"c0": column, "ts": pa.array([ORIGIN] * len(column), pa.timestamp("us"))})
    path = tmp_path / f"0000000000.{form}"
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    (tmp_path / END).touch()
    judged, read = rows_of_both(tmp_path, form, kind)
    assert judged == read
    assert judged


def test_an_audit_sees_a_fault_of_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    for folder in (log, out):
        folder.mkdir()
    (log / "0000000000.csv").write_text(f"k,v,ts\nNA,1,{TS}\n,2,{TS}\n")
    (log / END).touch()
    item = source("a", log)
    columns = (TypedColumn("k", "STRING"), *item.columns[1:])
    item = Input("a", "source", "d/a", {"files": {"uri": str(log), "format": "csv"}}, columns, "ts")
    spec = fragment(tmp_path, "f", [item], [], files_output(out, "a.k", "a.v"))
    pq.write_table(pa.table({"a_k": ["NA", None], "a_v": [1, 2]}), out / "right.parquet")
    monkeypatch.setattr(FileLog, "_pieces", None)  # it is not used
    assert audit(spec).good
    (out / "right.parquet").unlink()
    pq.write_table(pa.table({"a_k": pa.nulls(2, pa.string()), "a_v": [1, 2]}), out / "wrong.parquet")
    assert (audit(spec).missing, audit(spec).wrong) == (1, 1)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_event_times_in_another_unit(tmp_path: Path, unit: str) -> None:
    numbers = [10**power for power in range(20)]
    (tmp_path / "0000000000.json").write_text("".join(f'{{"ts": {number}}}\n' for number in numbers))
    (tmp_path / END).touch()
    files = {"uri": str(tmp_path), "format": "json", "unixTimes": {"ts": unit}}
    item = Input("a", "source", "d/a", {"files": files}, (TypedColumn("ts", "TIMESTAMP"),), "ts")
    log = source_log(item, "")
    start = log.start()
    read = [row for batch in log.read(start, log.advance(start, 0, 64).place) for row in batch.to_pylist()]
    judged = audit_logs.log_rows(files, [("ts", "TIMESTAMP")], "ts").to_pylist()
    assert [row["ts"] for row in judged] == [plain(row["ts"]) for row in read]
    assert len(judged) == 2
