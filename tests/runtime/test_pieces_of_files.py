"""A large file is read in pieces: its rows, their positions and what is bad are those of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from weir_runtime.logs import pieces
from weir_runtime.logs.bad_rows import BadRow
from weir_runtime.logs.file_rows import FileRows

from tests.runtime.test_bad_rows import read, text_input

SPAN = 200
COLUMNS = pa.schema(
    [pa.field("c0", pa.int64()), pa.field("c1", pa.string()), pa.field("ts", pa.timestamp("us"))]
)
BEGIN = datetime(2023, 11, 14, tzinfo=UTC)

Row = tuple[str, str, str]
numbers = st.integers(0, 99).map(str) | st.sampled_from(["", "x", "1.0"])
texts = st.text("ab ,é", max_size=8) | st.sampled_from(["two\nlines", 'a "quoted" word', "\n", "a\r\nb"])
times = st.integers(0, 999).map(lambda n: (BEGIN + timedelta(seconds=n)).isoformat())
rows_of_any_kind = st.lists(st.tuples(numbers, texts, times | st.just("noon")), max_size=60)


def as_csv(rows: list[Row]) -> bytes:
    quoted = ('"' + text.replace('"', '""') + '"' for _, text, _ in rows)
    lines = (f"{c0},{c1},{ts}\n" for (c0, _, ts), c1 in zip(rows, quoted, strict=True))
    return "".join(["c0,c1,ts\n", *lines]).encode()


def as_json(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(dict(zip(COLUMNS.names, row, strict=True))).encode() + b"\n" for row in rows)


def of_columns(path: Path, count: int, early: set[int]) -> Path:
    """A Parquet or an Arrow file; the rows at the positions of `early` have an event time before 1970."""
    when = np.array([-1 if i in early else 1_700_000_000_000_000 + i for i in range(count)], dtype=np.int64)
    table = pa.table(
        [np.arange(count), [f"text {i}" for i in range(count)], pa.array(when).cast(pa.timestamp("us"))],
        schema=COLUMNS,
    )
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=7)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, COLUMNS) as writer:
            writer.write_table(table, max_chunksize=7)
    return path


def same(path: Path) -> int:
    """How many pieces it has, which together are the file."""
    reader = FileRows(path.suffix[1:], COLUMNS, "ts")
    whole = reader.parsed(lambda: pa.OSFile(str(path)), None)
    pieces = list(reader.pieces(lambda: pa.OSFile(str(path)), None))
    assert pa.concat_tables([COLUMNS.empty_table(), *(p.rows for p in pieces)]).equals(whole.rows)
    assert [i for p in pieces for i in p.positions.tolist()] == whole.positions.tolist()
    bad: list[BadRow] = [row for piece in pieces for row in piece.bad]
    assert [(r.position, r.raw, r.ahead) for r in bad] == [(r.position, r.raw, r.ahead) for r in whole.bad]
    return len(pieces)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SPAN", SPAN)


KEEP = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["csv", "json"])
@KEEP
@given(rows=rows_of_any_kind, stray=st.none() | st.integers(0, 2000))
def test_pieces_of_a_text_are_the_text(tmp_path: Path, form: str, rows: list[Row], stray: int | None) -> None:
    content = as_csv(rows) if form == "csv" else as_json(rows)
    if stray is not None:  # a quote too many, anywhere behind the header
        place = min(len(content), 9 + stray)
        content = content[:place] + b'"' + content[place:]
    path = tmp_path / f"0000000000.{form}"
    path.write_bytes(content)
    same(path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["parquet", "arrow"])
@KEEP
@given(count=st.integers(0, 60), early=st.sets(st.integers(0, 59), max_size=3))
def test_pieces_of_columns_are_the_columns(tmp_path: Path, form: str, count: int, early: set[int]) -> None:
    same(of_columns(tmp_path / f"0000000000.{form}", count, early))


@pytest.mark.usefixtures("small")
def test_a_large_file_has_pieces_in_every_form(tmp_path: Path) -> None:
    rows = [("1", "two\nlines", BEGIN.isoformat())] * 60
    for form, content in (("csv", as_csv(rows)), ("json", as_json(rows))):
        path = tmp_path / f"0000000000.{form}"
        path.write_bytes(content)
        assert same(path) > 5, form
    for form in ("parquet", "arrow"):
        assert same(of_columns(tmp_path / f"0000000001.{form}", 60, set())) > 5, form


@pytest.mark.usefixtures("small")
def test_late_and_bad_rows_of_all_pieces_are_kept(tmp_path: Path) -> None:
    """Every tenth row is a minute behind the one before it, every tenth is no number."""
    lines = ["c0,ts"]
    for i in range(100):
        time = BEGIN + timedelta(seconds=i - 60 * (i % 10 == 5))
        lines.append(f"{'no' if i % 10 == 7 else i},{time.isoformat()}")
    (tmp_path / "0000000000.csv").write_text("\n".join(lines) + "\n")
    rows, letters, bad = read(text_input(tmp_path, "csv", "BIGINT"), tmp_path / "late")
    late = pa.ipc.open_file(tmp_path / "late" / "0000000000.arrow").read_all()
    assert late.column("c0").to_pylist() == list(range(5, 100, 10))
    assert [letter["offset"] for letter in letters] == list(range(7, 100, 10))
    assert bad == 10
    assert [row["c0"] for row in rows] == [i for i in range(100) if i % 10 not in (5, 7)]


LARGE = """
import resource, sys
from pathlib import Path
import pyarrow as pa
from weir_runtime.sources import source_log
from tests.runtime.test_bad_rows import text_input

log = source_log(text_input(Path(sys.argv[1]), sys.argv[2], "BIGINT", "STRING"), "")
place = log.start()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
end = log.advance(place, 0, 64).place
rows = sum(batch.num_rows for batch in log.read(place, end))
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("form", ["csv", "json"])
def test_memory_is_of_a_piece_however_large_a_file_is(tmp_path: Path, form: str) -> None:
    """256 MB; as a whole it takes 1 GB (CSV) and more (JSON)."""
    text = "x" * 1000
    row = (
        f"7,{text},{BEGIN.isoformat()}\n"
        if form == "csv"
        else as_json([("7", text, BEGIN.isoformat())]).decode()
    )
    count = 256 * 2**20 // len(row)
    with (tmp_path / f"0000000000.{form}").open("w") as file:
        file.write("c0,c1,ts\n" if form == "csv" else "")
        file.writelines(row for _ in range(count))
    done = subprocess.run(
        [sys.executable, "-c", LARGE, tmp_path, form], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows, megabytes = map(int, done.stdout.split())
    assert rows == count
    assert megabytes < 400
