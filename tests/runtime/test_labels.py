"""Whose files a plan may find in its sink: those of earlier plans of its query, whatever it was called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import FragmentSpec, Output
from weir_runtime.checkpoint import RESTORED
from weir_runtime.names import write_whole
from weir_runtime.publish import BatchSink, OtherNumbering, OthersRows
from weir_runtime.sinks import FolderSink

from tests.runtime.support import fragment, source

Plan = Callable[..., BatchSink]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """The sink of a plan, claimed for its first batch or, with `planned`, for a later one of a checkpoint
    that came from a snapshot."""

    def claim(query: str, prefix: str, numbering: str, after: int = 0, planned: int = -1) -> BatchSink:
        output = Output("files", str(tmp_path / "out"), after=after)
        spec: FragmentSpec = fragment(tmp_path, "g", [source("a", tmp_path)], [], output, query=query)
        if planned >= 0:
            write_whole(Path(spec.checkpoint) / RESTORED, "{}")
        sink = FolderSink(str(tmp_path / "out"), spec, prefix * 12, [("v", "v")])
        sink.take_over(numbering, planned)
        return sink

    return claim


def write(sink: BatchSink, number: int = 0) -> None:
    sink.write(pa.table({"v": [number]}), number, 0, lambda: None)


def test_a_plan_that_goes_on_finds_those_of_earlier_plans(plan: Plan) -> None:
    write(plan("q", "a", "one"))
    write(plan("q", "b", "two", after=5))
    plan("q", "c", "three", after=9)


@pytest.mark.parametrize("after", [0, 5])
def test_another_query_has_no_right_to_be_there_nor_behind_a_cut(plan: Plan, after: int) -> None:
    """The edit of `r` gave it the place of `q`."""
    write(plan("q", "a", "one"))
    with pytest.raises(OthersRows, match="has rows of query default/q, this is default/r"):
        plan("r", "b", "two", after=after)


def test_rows_behind_the_same_cut_are_not_published_twice(plan: Plan) -> None:
    write(plan("q", "a", "one"))
    write(plan("q", "b", "two", after=5))
    with pytest.raises(OtherNumbering):
        plan("q", "c", "three", after=5)


def test_a_query_that_was_restored_under_other_names_keeps_its_place_when_it_is_edited(plan: Plan) -> None:
    """Twice restored; the second time its own first file was not written yet when it was edited."""
    write(plan("q", "a", "one"))
    write(plan("r", "a", "one", planned=1), 1)
    write(plan("r", "b", "two", after=5))
    plan("s", "b", "two", after=5, planned=0)
    write(plan("s", "c", "three", after=9))
    with pytest.raises(OthersRows):
        plan("t", "d", "four", after=12)
