"""`weir run` tells the first row that a query cannot read, in a line, and where all of them are."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.local.bad_rows import bad_rows
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime.sources import source_log

COLUMNS = (TypedColumn("n", "BIGINT"), TypedColumn("ts", "TIMESTAMP"))
TS = "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("csv", f"n,ts\n1,{TS}\nx,{TS}\ny,{TS}\n", ", row 2: column n: x cannot be read as BIGINT; rows"),
        ("json", f'{{"n": 1.5, "ts": "{TS}"}}\n', ", row 1: column n: 1.5 cannot be read as BIGINT; rows"),
        (
            "csv",
            f"k,ts\n1,{TS}\n",
            ": not a file of format csv with this schema: no column n; the file has k",
        ),
        ("csv", f"n,ts\n1,{TS}\n", None),
    ],
)
def test_the_first_row_of_a_reader(tmp_path: Path, form: str, text: str, message: str | None) -> None:
    log = tmp_path / "in"
    log.mkdir()
    (log / f"0000000000.{form}").write_text(text)
    source = {"files": {"uri": str(log), "format": form}}
    late = tmp_path / "run" / "late" / "default" / "q-f1" / "a"
    reader = source_log(Input("a", "source", "d/a", source, COLUMNS, "ts"), str(late))
    end = reader.advance(reader.start(), 0, 64).place
    list(reader.read(reader.start(), end))
    lines = list(bad_rows(tmp_path / "run"))
    assert len(lines) == bool(message)
    for line in lines:
        assert line.startswith(f"{log}/0000000000.{form}{message}")
        assert line.endswith(f"; rows that cannot be read go to {late}/bad")
        assert "\n" not in line


def test_a_run_folder_without_any(tmp_path: Path) -> None:
    assert not list(bad_rows(tmp_path))
