"""From an own file to rows, as the tutorial goes, but with files as they come: init, test, run, query."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.tutorial.steps import environment

MINUTES, A_MINUTE, BEGIN = 4, 15, 1_769_860_800_000
ROWS = [
    {"room": f"r{i % 2}", "n": i, "at": BEGIN + i * 60_000 // A_MINUTE} for i in range(MINUTES * A_MINUTE)
]


def odd_csv(path: Path) -> None:
    """As a spreadsheet writes it: byte order mark, CRLF, quotes, blanks in a name; one value is no number."""
    lines = ['"room","Room No",n,at', *(f'"{r["room"]}","1, ""a""",{r["n"]},{r["at"]}' for r in ROWS)]
    path.write_text("\r\n".join([*lines, f'"r0",,many,{BEGIN}', ""]), "utf-8-sig", newline="")


def odd_json(path: Path) -> None:
    """With one line that is no object, and a time in seconds."""
    lines = [*map(json.dumps, ROWS), "[1, 2]", json.dumps({"room": "r0", "n": 1, "at": BEGIN // 1000})]
    path.write_text("\n".join(lines))


def numbers_in_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path)


def weir(folder: Path, *arguments: str, code: int = 0) -> str:
    """Both outputs of a command, which ends with `code`."""
    done = subprocess.run(
        ["weir", *arguments], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, f"{arguments}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


CSV_BAD = ["rooms/in/rooms/0000000000.csv, row 61: column n: many cannot be read as BIGINT; rows that cannot"]
JSON_BAD = ["rooms/in/rooms/0000000000.json, row 61: not a JSON object; rows that cannot"]

BAD = {"csv": 1, "json": 2, "parquet": 0}


@pytest.mark.parametrize(
    ("write", "suffix", "bad"),
    [(odd_csv, "csv", CSV_BAD), (odd_json, "json", JSON_BAD), (numbers_in_parquet, "parquet", [])],
)
def test_a_file_as_it_comes(
    tmp_path: Path, write: Callable[[Path], None], suffix: str, bad: list[str]
) -> None:
    sample = tmp_path / f"rooms.{suffix}"
    write(tmp_path / "rooms.parquet" if suffix == "parquet" else sample)
    if suffix == "json":  # what a stream cannot have is refused with its line, so the sample is without it
        broken = sample.read_text()
        assert "rooms.json:61: [1, 2] is not a JSON object" in weir(tmp_path, "init", sample.name, code=2)
        write_lines(sample, [json.dumps(row) for row in ROWS])
    output = weir(tmp_path, "init", sample.name)
    assert "event time at (milliseconds since 1970: unixTimes)" in output
    folder = tmp_path / "rooms" / "in" / "rooms"
    if suffix == "csv":
        typed_as_numbers(tmp_path / "rooms" / "weir.yaml")
    if suffix == "json":
        (folder / "0000000000.json").write_text(broken)
    (folder / "data.csv").touch()
    (tmp_path / "rooms" / "one.test.yaml").write_text(a_test())
    assert "failed: 0" in weir(tmp_path, "test", "rooms", *([] if suffix == "csv" else ["--batch-only"]))
    weir(tmp_path, "plan", "-f", "rooms")
    output = weir(tmp_path, "run", "-f", "rooms", "--until-finished", "--console")
    assert f"{folder}: data.csv is never read".removeprefix(f"{tmp_path}/") in output
    assert [message for message in bad if message not in output] == []
    assert ("rows that cannot be read" in output) == bool(bad)
    assert f"stream default/rooms: {len(ROWS) + BAD[suffix]} rows read" in output
    assert ("in no result: " in output) == bool(bad)
    assert f"rooms-counts: {2 * MINUTES} rows written" in output
    rows = map(json.loads, weir(tmp_path, "query", "rooms-counts", "--no-follow").splitlines())
    assert sum(row["n"] for row in rows) == len(ROWS)


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def typed_as_numbers(manifest: Path) -> None:
    """What a person would do whose column has one value that is no number."""
    manifest.write_text(manifest.read_text().replace("n STRING", "n BIGINT"))


def a_test() -> str:
    """Two rows of a minute, for the first query of `weir init`."""
    rows = [{"room": "r0", "n": i, "at": BEGIN + i} for i in range(2)]
    spec = {
        "query": "rooms-counts",
        "rows": {"rooms": rows},
        "expected": [{"room": "r0", "start": "2026-01-31T12:00:00Z", "n": 2}],
    }
    head = {"apiVersion": "test.weir.dev/v1alpha1", "kind": "QueryTest", "metadata": {"name": "a-minute"}}
    return yaml.safe_dump({**head, "spec": spec})


def test_a_stream_that_wants_to_fail_says_why_in_one_line(tmp_path: Path) -> None:
    sample = tmp_path / "rooms.json"
    write_lines(sample, [json.dumps(row) for row in ROWS])
    weir(tmp_path, "init", sample.name)
    manifest = tmp_path / "rooms" / "weir.yaml"
    manifest.write_text(manifest.read_text().replace("  source:\n", "  source:\n    onBadRow: Fail\n"))
    rows = [json.dumps({"room": "r0", "n": "x", "at": BEGIN}), *map(json.dumps, ROWS)]
    write_lines(tmp_path / "rooms" / "in" / "rooms" / "0000000000.json", rows)
    output = weir(tmp_path, "run", "-f", "rooms", "--until-finished", code=1)  # at once: trying again is vain
    wrong = 'in/rooms/0000000000.json, row 1: column n: "x" cannot be read as BIGINT (onBadRow: Fail)'
    assert wrong in output
    assert not [line for line in output.splitlines() if "Traceback" in line or line.startswith("  File ")]


def test_a_file_of_which_no_row_can_be_read_is_no_success(tmp_path: Path) -> None:
    sample = tmp_path / "rooms.csv"
    odd_csv(sample)
    weir(tmp_path, "init", sample.name)
    (tmp_path / "rooms" / "in" / "rooms" / "0000000000.csv").write_text("room;n;at\nr0;1;2\n")
    output = weir(tmp_path, "run", "-f", "rooms", "--until-finished", code=1)
    assert "rooms-counts: no row of stream default/rooms could be read; bad: 1" in output
