"""The demo fails when it has shown nothing: an audit of no rows, or no move."""

from __future__ import annotations

from dataclasses import replace

from weir_runtime.audit import Verdict

from examples.flights.demo import shortcomings

GOOD = Verdict(rows=3, missing=0, doubled=0, wrong=0, examples={})


def test_rows_that_are_right_and_a_move_are_what_it_is_for() -> None:
    assert shortcomings({"a": GOOD, "b": GOOD}, moves=1, dropped=0.0) == []


def test_whatever_is_lacking_is_named() -> None:
    for fault in ({"missing": 1}, {"doubled": 1}, {"wrong": 1}):
        (shortcoming,) = shortcomings({"a": GOOD, "b": replace(GOOD, **fault)}, moves=1, dropped=0.0)
        assert shortcoming.startswith("b: missing")
    assert shortcomings({"a": GOOD, "b": replace(GOOD, rows=0)}, 1, 0.0) == ["b: no rows, right or wrong"]
    assert shortcomings({}, 1, 0.0) == ["there is no query to audit"]
    assert shortcomings({"a": GOOD}, 0, 0.0) == ["no fragment has moved, though the load rose"]
    assert shortcomings({"a": GOOD}, 1, 2.0) == ["2 rows were dropped as late inside a fragment"]
