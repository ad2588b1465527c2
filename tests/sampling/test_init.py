"""`weir init`: what it makes of samples, and that `weir plan` takes it."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from weir_operator.cli import main
from weir_operator.sampling.columns import of_texts
from weir_operator.sampling.sample import SampleContent, typed
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime.audit_logs import log_rows
from weir_runtime.sources import source_log

BEGIN = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(count: int = 200) -> list[dict[str, Any]]:
    """One a second, every tenth three seconds late."""
    late = [3 if i % 10 == 9 else 0 for i in range(count)]
    return [
        {
            "sensor": f"s{i % 5}",
            "value": 20 + i / 4,
            "n": i,
            "ok": i % 2 == 0,
            "at": (BEGIN + timedelta(seconds=i - late[i])).isoformat(),
        }
        for i in range(count)
    ]


def write(path: Path, values: list[dict[str, Any]]) -> None:
    if path.suffix == ".csv":
        lines = [",".join(values[0]), *(",".join(_text(v) for v in row.values()) for row in values)]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".json":
        path.write_text("".join(json.dumps(row) + "\n" for row in values))
    else:
        table = pa.Table.from_pylist(values)
        times = pa.array([datetime.fromisoformat(row["at"]) for row in values], pa.timestamp("ms", "UTC"))
        pq.write_table(table.set_column(table.column_names.index("at"), "at", times), path)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def documents(path: str) -> dict[str, Any]:
    return {raw["kind"]: raw for raw in yaml.safe_load_all(Path(path).read_text())}


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_a_sample_becomes_a_stream_a_query_and_a_node(
    folder: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    write(folder / f"readings.{suffix}", rows())
    assert main(["init", f"readings.{suffix}"]) == 0
    assert "event time at" in capsys.readouterr().out
    raw = documents("readings/weir.yaml")
    spec = raw["Stream"]["spec"]
    assert spec["schema"] == "sensor STRING, value DOUBLE, n BIGINT, ok BOOLEAN, at TIMESTAMP"
    assert spec["eventTime"] == {"column": "at", "watermark": "2s"}
    assert spec["rate"] == "2"  # 200 rows within 198 s
    assert spec["statistics"]["distinct"] == {"sensor": 5, "value": 200, "n": 200, "ok": 2}
    assert "GROUP BY s.ok, window(s.at, '10 seconds')" in raw["StreamQuery"]["spec"]["sql"]
    assert main(["plan", "-f", "readings"]) == 0
    assert "readings-counts" in capsys.readouterr().out
    files = spec["source"]["files"]
    columns = [tuple(column.split(" ")) for column in spec["schema"].split(", ")]
    assert log_rows(files, columns, "at").num_rows == 200  # type: ignore[arg-type]
    assert sorted(path.name for path in Path(files["uri"]).iterdir()) == [f"0000000000.{suffix}", "END"]


def test_nothing_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "readings.csv", rows())
    assert main(["init", "readings.csv"]) == 0
    (folder / "readings" / "weir.yaml").write_text("mine")
    assert main(["init", "readings.csv"]) == 2
    assert "readings/weir.yaml: already exists" in capsys.readouterr().err
    assert (folder / "readings" / "weir.yaml").read_text() == "mine"
    assert main(["init", "readings.csv", "--folder", "other", "--name", "order", "--time", "at"]) == 0
    assert main(["plan", "-f", "other"]) == 0  # `order` is a word of SQL


@pytest.mark.parametrize(
    ("name", "right"),
    [("My States", "my-states"), ("états", "etats"), ("states\n", "states"), ("a" * 44, "a" * 40)],
)
def test_a_name_that_no_stream_can_have(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, right: str
) -> None:
    write(folder / "states.csv", rows())
    assert main(["init", "states.csv", "--name", name]) == 2
    assert f"--name {name!r} cannot be the name of a stream; " in (error := capsys.readouterr().err)
    assert f"as --name {right}\n" in error
    assert list(folder.iterdir()) == [folder / "states.csv"]
    assert main(["init", "states.csv", "--name", right]) == 0
    assert main(["plan", "-f", right]) == 0


def test_the_longest_name_is_planned(folder: Path) -> None:
    write(folder / "states.csv", rows())
    assert main(["init", "states.csv", "--name", "a" * 43, "--folder", "long"]) == 0
    assert main(["plan", "-f", "long"]) == 0


def test_what_a_stream_cannot_have_is_left_out_and_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.csv").write_text("Temp (C),_id,When,when,x\n1,2,2026-01-31,2026-01-31,3\n")
    assert main(["init", "odd.csv"]) == 0
    assert documents("odd/weir.yaml")["Stream"]["spec"]["schema"] == "When TIMESTAMP, x BIGINT"
    output = capsys.readouterr().out
    for column in ("Temp (C)", "_id", "when"):
        assert f"left out: column {column!r}: " in output


def test_numbers_that_are_texts_here_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f'2026-01-31T12:0{i}:00Z,"{i},5",{"NA" if i == 3 else i},{i}.01.2026,s{i}' for i in range(8)]
    (folder / "odd.csv").write_text("\n".join(["ts,comma,gap,day,name", *lines]))
    assert main(["init", "odd.csv"]) == 0
    output = capsys.readouterr().out
    right = "write numbers as 10.5, and nothing where there is none"
    assert f"  comma is STRING here, as '0,5' is no number: {right}" in output
    assert f"  gap is STRING here, as 'NA' is no number: {right}" in output
    assert "day is STRING" not in output
    assert "name is STRING" not in output


def test_the_node_of_two_folders_is_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.csv").write_text("k,ts\n1,2026-01-31T12:00:00Z\n")
        assert main(["init", f"{name}.csv"]) == 0
    assert main(["plan", "-f", "one", "-f", "two"]) == 0
    node = (folder / "two" / "weir.yaml").read_text().replace("cpu: '", "cpu: '1")
    (folder / "two" / "weir.yaml").write_text(node)
    capsys.readouterr()
    assert main(["plan", "-f", "one", "-f", "two"]) == 2
    assert "Node here: is defined twice" in capsys.readouterr().err


def test_rows_that_cannot_be_read_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "some.json").write_text('{"ts": "2026-01-31T12:00:00Z", "k": 1}\n{"k": 2}\n')
    assert main(["init", "some.json"]) == 0
    assert (
        "1 row cannot be read and would go to the dead letters (`weir query --bad`); the first: line 2: no ts"
        in capsys.readouterr().out
    )


def test_a_row_with_a_comma_too_many_is_bad_and_its_line_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{i},x,2026-01-31T12:00:0{i}Z" for i in range(8)]
    lines[4:5] = ["", "4,x,y,2026-01-31T12:00:04Z"]
    (folder / "a.csv").write_text("\n".join(["k,name,ts", *lines]))
    assert main(["init", "a.csv"]) == 0
    assert "the first: line 7: 4 values for 3 columns" in capsys.readouterr().out
    assert documents("a/weir.yaml")["Stream"]["spec"]["schema"] == "k BIGINT, name STRING, ts TIMESTAMP"


@pytest.mark.parametrize("value", ["02.03.2026 08:02:00", "NA"])
@pytest.mark.parametrize("options", [(), ("--time", "at")])
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_value_that_keeps_a_column_from_being_times_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], suffix: str, options: tuple[str, ...], value: str
) -> None:
    values = rows(300)
    values[120]["at"] = value
    write(folder / f"a.{suffix}", values)
    assert main(["init", f"a.{suffix}", *options]) == 2
    line = 122 if suffix == "csv" else 121
    wrong = f"a.{suffix}: at: 299 of 300 values are times; line {line}: {value!r}. "
    assert capsys.readouterr().err.startswith(wrong)


def test_a_column_of_almost_times_is_said_where_another_has_times(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.csv").write_text("at,sent\n" + 3 * "2026-01-31,2026-01-31\n" + "NA,2026-01-31\n")
    assert main(["init", "a.csv"]) == 0
    assert "at is STRING here: 3 of 4 values are times; line 5: 'NA'" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["utf-16", "utf-16-le"])
def test_a_file_in_utf_16(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (folder / "a.csv").write_text("k,ts\n1,2026-01-31\n", form)
    assert main(["init", "a.csv"]) == 2
    right = "a.csv: is UTF-16, not UTF-8; convert it: `iconv -f utf-16 -t utf-8 a.csv > new.csv`"
    assert right in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_compressed_file(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (folder / name).write_bytes(gzip.compress(b"k,ts\n1,2026-01-31\n"))
    assert main(["init", name]) == 2
    assert f"{name}: is compressed; unpack it first: `" in (error := capsys.readouterr().err)
    assert "gunzip a.csv.gz`" in error


def test_a_file_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.csv").mkdir()
    assert main(["init", "a.csv"]) == 2
    assert main(["init", "b.csv"]) == 2
    assert capsys.readouterr().err == "a.csv: no such file\nb.csv: is a folder; give one of its files\n"


def test_a_broker_that_does_not_answer_is_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir_operator.sampling.topic.PATIENCE", 1.0)
    assert main(["init", "kafka://localhost:9/x"]) == 2
    out, error = capfd.readouterr()
    assert out == ""
    assert error == "kafka://localhost:9/x: no broker answers at localhost:9\n"


@pytest.mark.parametrize(
    ("times", "rate", "sentence"),
    [
        (["2026-01-31"] * 4, "1", "1 row/s, a guess: no two rows differ in time"),
        (["2026-01-31T12:00:00Z", "2026-01-31T12:00:02Z"], "1", "1 row/s, from event times"),
        (["2026-01-01", "2026-01-02", "2026-01-03"], "18u", "1.8e-05 rows/s, from event times"),
        (["2025-01-31", "2026-01-31"], "1u", "1e-06 rows/s, from event times"),
    ],
)
def test_the_rate_and_where_it_is_from(
    folder: Path, capsys: pytest.CaptureFixture[str], times: list[str], rate: str, sentence: str
) -> None:
    (folder / "a.csv").write_text("\n".join(["k,since", *(f"{i},{time}" for i, time in enumerate(times))]))
    assert main(["init", "a.csv"]) == 0
    assert f"  {sentence}\n" in capsys.readouterr().out
    assert documents("a/weir.yaml")["Stream"]["spec"]["rate"] == rate
    assert f"rate is {sentence.partition(', ')[2]}" in Path("a/weir.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "a.csv: is empty; the first line must have the columns' names"),
        ("a.csv", "1,2026-01-31\n2,2026-01-31\n", "a.csv:1: 1,2026-01-31 has no names"),
        ("a.csv", "k;ts\n1;2026-01-31\n", "a.csv:1: separates values by ';'"),
        (
            "a.csv",
            "k,ts\n1,1769860800000\n2,17\n",
            "a.csv: no column has times. A stream needs an event time",
        ),
        ("a.csv", "k,day\n1,31.01.2026\n", "a.csv: no column has times. A stream needs an event time"),
        (
            "a.csv",
            'k,ts\n1,2026-01-31\n"2,2026-01-31\n3,2026-01-31\n',
            'a.csv:3: a " opens here that nothing',
        ),
        ("a.csv", "k,ts\n1,2,2026-01-31\n", "a.csv:2: has 3 values for the 2 columns of line 1; put values"),
        ("a.csv", "k\tts\n1\t2026-01-31\n", "a.csv:1: separates values by tabs"),
        ("a.csv", "k,k,ts\n1,2,2026-01-31\n", "a.csv:1: has column k more than once; give each its own name"),
        ("a.csv", "k,ts\n", "a.csv: has no rows below its header; a sample needs some"),
        ("a.csv", "k,ts\n1,2026-01-31\n\udcfc,2026-01-31\n", "a.csv:3: is not UTF-8; convert it"),
        ("a.json", "", "a.json: is empty; a sample needs rows"),
        ("a.json", '[{"k": 1},\n', "a.json:1: is an array and not a JSON object; write one object a line"),
        ("a.json", "[1, 2]\n", "a.json:1: is an array and not a JSON object"),
        ("a.json", "7\n", "a.json:1: 7 is not a JSON object"),
        ("a.json", '{"k": 1}\nnothing\n', "a.json:2: is not JSON"),
        ("a.json", '{"k": 1}\n\nnothing\n', "a.json:3: is not JSON"),
        ("a.parquet", "no", "a.parquet: cannot be read: "),
        ("a.xlsx", "", "a.xlsx: cannot be read as a sample; give a file that ends in .csv, .json"),
    ],
)
def test_a_sample_of_which_no_stream_can_be_made(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (folder / name).write_text(text, errors="surrogateescape")
    assert main(["init", name]) == 2
    assert message in capsys.readouterr().err
    assert list(folder.iterdir()) == [folder / name]


def test_the_event_time_must_be_a_time(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "readings.csv", rows())
    assert main(["init", "readings.csv", "--time", "n"]) == 2
    assert "readings.csv: column n is BIGINT, not a time" in capsys.readouterr().err


def test_a_message_names_the_sample_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.csv").touch()
    assert main(["init", "./empty.csv"]) == 2
    assert capsys.readouterr().err.count("empty.csv") == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_and_ends_of_lines_of_other_systems(folder: Path, end: str) -> None:
    (folder / "a.csv").write_text(end.join(['"k",ts', '"x, ""y""",2026-01-31', ""]), "utf-8-sig", newline="")
    (folder / "b.json").write_text(end.join(['{"k": "x", "ts": "2026-01-31"}', ""]), "utf-8-sig", newline="")
    for name, value in (("a", 'x, "y"'), ("b", "x")):
        assert main(["init", f"{name}.{'csv' if name == 'a' else 'json'}"]) == 0
        spec = documents(f"{name}/weir.yaml")["Stream"]["spec"]
        assert spec["schema"] == "k STRING, ts TIMESTAMP"
        columns = (TypedColumn("k", "STRING"), TypedColumn("ts", "TIMESTAMP"))
        log: Any = source_log(Input("s", "source", "d/s", spec["source"], columns, "ts"), "")
        assert log.whole().column("k").to_pylist() == [value]
        rows = log_rows(spec["source"]["files"], [("k", "STRING"), ("ts", "TIMESTAMP")], "ts")
        assert rows.column("k").to_pylist() == [value]


UNITS = [("s", 1, "seconds"), ("ms", 1000, "milliseconds"), ("us", 1_000_000, "microseconds")]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
@pytest.mark.parametrize(("unit", "factor", "word"), UNITS)
def test_numbers_that_are_times_since_1970_are_declared(
    folder: Path, capsys: pytest.CaptureFixture[str], suffix: str, unit: str, factor: int, word: str
) -> None:
    begin = int(BEGIN.timestamp())
    values = [{"id": 1_700_000_000_000 + i, "ts": (begin + i) * factor, "v": i} for i in range(100)]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(values), folder / "events.parquet")
    else:
        write(folder / f"events.{suffix}", values)
    assert main(["init", f"events.{suffix}"]) == 0
    output = capsys.readouterr().out
    assert f"event time ts ({word} since 1970: unixTimes)" in output
    assert "id may be milliseconds since 1970; it is BIGINT here" in output
    spec = documents("events/weir.yaml")["Stream"]["spec"]
    assert spec["schema"] == "id BIGINT, ts TIMESTAMP, v BIGINT"
    assert spec["source"]["files"]["unixTimes"] == {"ts": unit}
    assert main(["plan", "-f", "events"]) == 0
    rows = log_rows(spec["source"]["files"], [("ts", "TIMESTAMP")], "ts").to_pylist()
    assert (len(rows), rows[0]["ts"]) == (100, BEGIN.replace(tzinfo=None))


def test_a_written_time_goes_before_numbers_that_nobody_names(folder: Path) -> None:
    (folder / "a.csv").write_text("ts,seen\n1769860800000,2026-01-31T12:00:00Z\n")
    assert main(["init", "a.csv"]) == 0
    spec = documents("a/weir.yaml")["Stream"]["spec"]
    assert (spec["schema"], spec["eventTime"]["column"]) == ("ts BIGINT, seen TIMESTAMP", "seen")
    assert main(["init", "a.csv", "--time", "ts", "--name", "b"]) == 0
    spec = documents("b/weir.yaml")["Stream"]["spec"]
    assert (spec["schema"], spec["eventTime"]["column"]) == ("ts TIMESTAMP, seen TIMESTAMP", "ts")


TEXTS = st.one_of(
    st.sampled_from(["", "0", "-7", "1.5", "true", "NA", "2026-01-31", "x,y", 'say "a"', "9" * 18]),
    st.text("abc019.-:T ", max_size=6),
)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_every_row_of_a_csv_file_can_be_read_with_the_types_that_were_guessed(
    values: list[tuple[str, str]],
) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if set(text) & set('," ') else text

    lines = [f"{quoted(a)},{quoted(b)},2026-01-31T12:00:00Z" for a, b in values]
    body = "\n".join(["a,b,ts", *lines]).encode() + b"\n"
    columns = {"a": [a or None for a, _ in values], "b": [b or None for _, b in values]}
    columns["ts"] = ["2026-01-31T12:00:00Z"] * len(values)
    sample = typed(SampleContent("csv", of_texts(columns), body, columns), None)
    assert sample.bad == 0, (sample.types, sample.reason)
    assert sample.rows.num_rows == len(values)
