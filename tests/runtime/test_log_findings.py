"""Findings about logs, publishing and the session, as small as they can be (the others: test_findings)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from weir_placement.model.fragment import FragmentSpec
from weir_runtime.inputs import open_input
from weir_runtime.logs.log import Log
from weir_runtime.publish import put_once
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources import source_log

from tests.runtime.support import append_batch, files_output, fragment, source, write_log
from tests.runtime.test_findings import KEYS, SECOND, count_by_second, steps


def opened(tmp_path: Path, log: Path, start: int = 0) -> Log:
    item = source("a", log, start=start)
    input_ = open_input(item, fragment(tmp_path, "x", [item], [], files_output(tmp_path / "o")))
    assert input_ is not None
    return input_.log


def test_numbers_are_dense_and_a_hole_is_waited_for(tmp_path: Path) -> None:
    log = write_log(tmp_path / "a", [[row] for row in steps(5)], end=False)
    (log / "0000000002.parquet").rename(log / "later")
    reader = opened(tmp_path, log)
    assert reader.advance(reader.start(), 0, 64).place["next"] == 2
    (log / "later").rename(log / "0000000002.parquet")
    assert reader.advance({"next": 2, "max": None}, 0, 64).place["next"] == 5


def test_a_drained_reader_admits_nothing(tmp_path: Path) -> None:
    """`latestOffset` returns the start: the query falls idle after a commit, and not within a batch."""
    log = write_log(tmp_path / "a", [[row] for row in steps(2)], end=False)
    control = Control(tmp_path)
    reader = WeirStreamReader(opened(tmp_path, log), "a", control, 64)
    start = reader.latestOffset(reader.initialOffset(), None)
    append_batch(log, 2, [(1, 1, 9 * SECOND)])
    control.set("drain")
    assert reader.latestOffset(start, None) == start
    assert control.is_set("drained-a")


def test_an_idle_reader_tells_its_clock_once_more_and_then_rests(tmp_path: Path) -> None:
    """Without a batch after the last rows their windows never close; with one for ever it never rests."""
    log = write_log(tmp_path / "a", [steps(3)], end=False)
    reader = WeirStreamReader(opened(tmp_path, log), "a", Control(tmp_path), 64)
    first = reader.latestOffset(reader.initialOffset(), None)
    again = reader.latestOffset(first, None)
    assert again != first
    assert again["clock"] == first["clock"] > 0
    assert reader.latestOffset(again, None) == again


def test_a_name_that_exists_is_never_replaced(tmp_path: Path) -> None:
    """Exists-then-rename lets two writers publish one batch."""
    final = tmp_path / "0000000000.arrow"
    for text, published in (("first", True), ("second", False)):
        size, is_new = put_once(final, lambda temporary, text=text: temporary.write_text(text), lambda: None)
        assert (size, is_new) == (len(text), published)
        assert list(tmp_path.iterdir()) == [final]
    assert final.read_text() == "first"


Change = Callable[[FragmentSpec], FragmentSpec]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: replace(s, inputs=(replace(s.inputs[0], delay=7),)),
        lambda s: replace(s, inputs=(replace(s.inputs[0], start=1),)),
        lambda s: replace(s, executors=2),
        lambda s: replace(s, output=replace(s.output, columns=s.output.columns[:1])),
        lambda s: replace(s, operators=(replace(s.operators[0], window=2.0, slide=2.0),)),
    ],
    ids=["delay", "start", "executors", "columns", "window"],
)
def test_whatever_changes_state_or_batches_changes_the_checkpoint(tmp_path: Path, change: Change) -> None:
    from weir_runtime.plan import plan_hash

    item = source("a", write_log(tmp_path / "a", [steps(2)]))
    spec = fragment(
        tmp_path, "g", [item], [count_by_second("a", "a.ts")], files_output(tmp_path / "o", *KEYS)
    )
    hashes = set()
    for one in (spec, change(spec)):
        input_ = open_input(one.inputs[0], one)
        assert input_ is not None
        hashes.add(plan_hash(one, [input_]))
    assert len(hashes) == 2


def test_other_cores_do_not_change_the_checkpoint(tmp_path: Path) -> None:
    from weir_runtime.plan import plan_hash

    item = source("a", write_log(tmp_path / "a", [steps(2)]))
    spec = fragment(tmp_path, "g", [item], [], files_output(tmp_path / "o", "a.k"))
    opened = open_input(item, spec)
    assert opened is not None
    assert plan_hash(spec, [opened]) == plan_hash(replace(spec, cores=4), [opened])


def test_a_reader_that_begins_late_decides_lateness_as_one_of_the_whole_log(tmp_path: Path) -> None:
    batches = [[(1, 1, 9 * SECOND)], [(1, 2, 3 * SECOND)], [(1, 3, 6 * SECOND), (1, 4, 20 * SECOND)]]
    folder = write_log(tmp_path / "a", batches, end=False)
    item = source("a", folder, delay=2 * SECOND)
    origin = 1_700_000_000 * SECOND
    log = source_log(replace(item, after=origin + 9 * SECOND), "")
    assert log.start() == {"next": 2, "max": origin + 9 * SECOND}
    end = log.advance(log.start(), 0, 9).place
    rows = [v for part in log.read(log.start(), end) for v in part.column("v").to_pylist()]
    assert rows == [4], "6 s is late behind 9 s, which this reader has not read itself"
    beyond = source_log(replace(item, after=origin + 99 * SECOND), "")
    assert beyond.start()["next"] == 3
