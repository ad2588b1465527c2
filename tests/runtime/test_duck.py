"""What the audit and `weir test` ask DuckDB gives what Spark gives."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest
from weir_runtime.duck import duck

ROW = """SELECT 'north' AS "s.t", CAST(NULL AS INT) AS "s.n\""""
POSITIONS = (-5, -2, -1, 0, 1, 2, 4, 9)


def in_spark(text: str, start: int, length: int | None = None) -> str:
    """Spark's `UTF8String.substringSQL`: positions from 1, or from the end; 0 is the first letter too."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def asked(expression: str) -> str | None:
    row = duckdb.connect().execute(f"SELECT {duck(expression)} FROM ({ROW})").fetchone()
    return None if row is None else row[0]


def test_parts_of_a_text_from_any_position_of_any_length() -> None:
    for start, length in product(POSITIONS, POSITIONS):
        assert asked(f"substring(s.t, {start}, {length})") == in_spark("north", start, length)
    for number in POSITIONS:
        assert asked(f"substring(s.t, {number})") == in_spark("north", number)
        assert asked(f"left(s.t, {number})") == "north"[: max(number, 0)]
        assert asked(f"right(s.t, {number})") == ("north"[-number:] if number > 0 else "")


def test_one_within_another() -> None:
    assert asked("concat(left(substring(s.t, 0, 3), length(right(s.t, 2))), '!')") == "no!"


@pytest.mark.parametrize(
    "call", ["left(s.t, s.n)", "right(s.t, s.n)", "substring(s.t, s.n)", "substring(s.t, 1, s.n)"]
)
def test_of_an_unknown_length_nothing_is_known(call: str) -> None:
    assert asked(call) is None
