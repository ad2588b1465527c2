"""A text file that as a whole is not what its stream reads: one bad row, which says what the file is."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest
from weir_runtime.logs.bad_rows import REASON
from weir_runtime.sources import source_log

from tests.runtime.test_bad_rows import TS, read, text_input, values

PREFIX = "not a file of format {} with this schema: "
GOOD = {"csv": f"c0,ts\n7,{TS}\n".encode(), "json": f'{{"c0": 7, "ts": "{TS}"}}\n'.encode()}
GZIP = "it is gzip: unpack it first, with `gunzip`"
UTF_16 = "it is UTF-16: convert it, as with `iconv -f utf-16 -t utf-8`"
EMPTY = "it is empty; the first line must have the columns' names"
WHOLE_FILES = [
    ("csv", b"", EMPTY),
    ("csv", b"\n \r\n", EMPTY),
    ("csv", codecs.BOM_UTF8, EMPTY),
    ("csv", gzip.compress(GOOD["csv"]), GZIP),
    ("json", gzip.compress(GOOD["json"]), GZIP),
    ("csv", GOOD["csv"].decode().encode("utf-16"), UTF_16),
    ("csv", GOOD["csv"].decode().encode("utf-16-be"), UTF_16),
    ("json", GOOD["json"].decode().encode("utf-16-le"), UTF_16),
    ("csv", f"c0,ts,c0\n1,{TS},2\n".encode(), "it has column c0 more than once; give each its own name"),
    (
        "csv",
        f"7,{TS}Z\n8,{TS}Z\n".encode(),
        f"no column c0, ts; the file has 7, {TS}Z; is the header missing?",
    ),
    ("csv", b"ts,\x1b[31mred\x00\n1,2\n", r"no column c0; the file has ts, \x1b[31mred\x00"),
]


@pytest.mark.parametrize(("form", "content", "reason"), WHOLE_FILES)
def test_a_file_that_is_something_else_is_one_bad_row(
    tmp_path: Path, form: str, content: bytes, reason: str
) -> None:
    (tmp_path / f"0000000000.{form}").write_bytes(content)
    (tmp_path / f"0000000001.{form}").write_bytes(GOOD[form])
    rows, letters, count = read(text_input(tmp_path, form, "BIGINT"), tmp_path / "late")
    assert values(rows) == [7]
    assert [(letter["offset"], letter["reason"]) for letter in letters] == [
        (None, PREFIX.format(form) + reason)
    ]
    assert count == 1


def test_a_stream_that_wants_to_fail_does_at_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "0000000000.csv").touch()
    log = source_log(text_input(tmp_path, "csv", "BIGINT", bad_rows={"onBadRow": "Fail"}), "")
    with pytest.raises(ValueError, match=r"0000000000\.csv: .* it is empty; .* \(onBadRow: Fail\)"):
        log.advance(log.start(), 0, 64)


def test_a_file_of_json_without_a_byte_has_no_rows(tmp_path: Path) -> None:
    """It has no header to miss."""
    (tmp_path / "0000000000.json").touch()
    assert read(text_input(tmp_path, "json", "BIGINT"), tmp_path / "late") == ([], [], 0)


def test_a_column_of_no_interest_may_be_there_twice(tmp_path: Path) -> None:
    (tmp_path / "0000000000.csv").write_text(f"c0,note,ts,note\n7,a,{TS},b\n")
    rows, letters, _ = read(text_input(tmp_path, "csv", "BIGINT"), tmp_path / "late")
    assert (values(rows), letters) == ([7], [])


def test_a_header_of_any_length_makes_a_short_reason(tmp_path: Path) -> None:
    (tmp_path / "0000000000.csv").write_text(",".join(f"column{i}" for i in range(1000)))
    (letter,) = read(text_input(tmp_path, "csv", "BIGINT"), tmp_path / "late")[1]
    assert letter["reason"].endswith("...; is the header missing?")
    assert len(letter["reason"]) <= REASON


@pytest.mark.parametrize(
    ("good", "last"),
    [
        (f"c0,c1,ts\n1,a,{TS}\n", '2,"b\n'),
        (f"c0,c1,ts\n1,a,{TS}\n", f'2,"b,{TS}\n3,c,{TS}\n'),
        (f"c0,ts,c1\n1,{TS},a\n", f'2,{TS},"b\n3,{TS},c\n'),
        (f"c0,ts,c1\n1,{TS},a\n", f'2,{TS},"'),
        (f"c0,ts,c1,else\n1,{TS},a,b\n", f'2,{TS},a,"b\n3,{TS},a,b\n'),
    ],
)
def test_a_quote_that_nothing_closes_takes_no_other_rows_into_its_value(
    tmp_path: Path, good: str, last: str
) -> None:
    (tmp_path / "0000000000.csv").write_text(good + last)
    rows, (letter,), _ = read(text_input(tmp_path, "csv", "BIGINT", "STRING"), tmp_path / "late")
    assert values(rows) == [1]
    count = len(last.splitlines())
    lines = "" if count == 1 else f" (this value goes over {count} lines)"
    assert letter["reason"] == f'a quote (") is opened here, and nothing closes it{lines}'
    assert letter["row"].decode() == last


@pytest.mark.parametrize("more", ["", f'"e,5,{TS}\nf,6,{TS}\n'])
def test_stray_quotes_take_no_rows_into_a_value_unseen(tmp_path: Path, more: str) -> None:
    """Two of them make one text of two rows, with as many columns as a row has."""
    swallowed = f'"b,2,{TS}\n"c,3,{TS}\n'
    (tmp_path / "0000000000.csv").write_text(f"c1,c0,ts\na,1,{TS}\n{swallowed}d,4,{TS}\n{more}")
    rows, letters, _ = read(text_input(tmp_path, "csv", "BIGINT", "STRING"), tmp_path / "late")
    assert values(rows) == [1, 4]
    assert [(letter["offset"], letter["row"].decode()) for letter in letters] == [
        (position, text) for position, text in ((1, swallowed), (3, more)) if text
    ]
    assert letters[0]["reason"] == (
        'a quote (") is opened here, and the one that closes it, in another line, is within a value '
        "(this value goes over 2 lines)"
    )


def test_a_text_of_two_lines_in_quotes_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "0000000000.csv").write_text(f'c1,c0,ts\n"a ""b""\nc",1,{TS}\nd"e,2,{TS}\n')
    rows, letters, _ = read(text_input(tmp_path, "csv", "BIGINT", "STRING"), tmp_path / "late")
    assert (values(rows), letters) == ([1, 2], [])


@pytest.mark.parametrize(
    ("kind", "value", "hint"),
    [
        ("INT", "99999999999", "; it is beyond INT: declare BIGINT"),
        ("TINYINT", "-129", "; it is beyond TINYINT: declare SMALLINT"),
        ("SMALLINT", "40000", "; it is beyond SMALLINT: declare INT"),
        ("BIGINT", "9223372036854775808", "; it is beyond BIGINT: declare DECIMAL(38,0)"),
        ("BIGINT", "1" * 39, ""),
        ("INT", "1.5", ""),
        ("INT", "x", ""),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_number_beyond_its_type_names_the_type_that_holds_it(
    tmp_path: Path, form: str, kind: str, value: str, hint: str
) -> None:
    shown = f'"{value}"' if value == "x" and form == "json" else value
    lines = {"csv": f"c0,ts\n{shown},{TS}\n", "json": f'{{"c0": {shown}, "ts": "{TS}"}}\n'}
    (tmp_path / f"0000000000.{form}").write_text(lines[form])
    (letter,) = read(text_input(tmp_path, form, kind), tmp_path / "late")[1]
    assert letter["reason"] == f"column c0: {shown} cannot be read as {kind}{hint}"


@pytest.mark.parametrize("control", ["\x1b[31mx", "\x00", "\x9b1m", "\r"])
def test_control_characters_of_a_value_reach_no_terminal(tmp_path: Path, control: str) -> None:
    (tmp_path / "0000000000.csv").write_text(f'c0,ts\n"{control}",{TS}\n', newline="")
    (letter,) = read(text_input(tmp_path, "csv", "BIGINT"), tmp_path / "late")[1]
    assert letter["reason"].isprintable()
    assert control.encode("unicode_escape").decode() in letter["reason"]
