"""The generator: row i is a pure function of i, so it can be replayed like any log."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import FOREVER, FragmentError, Input, TypedColumn
from weir_runtime.logs.log import Room
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources import rate as rate_log
from weir_runtime.sources import source_log
from weir_runtime.sources.rate import RateLog

SECOND = 1_000_000
NOW = 1_700_000_000 * SECOND
COLUMNS = (
    TypedColumn("k", "BIGINT"),
    TypedColumn("name", "STRING"),
    TypedColumn("good", "BOOLEAN"),
    TypedColumn("ts", "TIMESTAMP"),
)


def rate_input(**options: object) -> Input:
    return Input("r", "source", "default/r", {"rate": options}, COLUMNS, "ts")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """[us] What the log takes for now."""
    now = [NOW]
    monkeypatch.setattr(time, "time_ns", lambda: now[0] * 1000)
    return now


def rows(log: RateLog, start: int, end: int) -> list[dict[str, object]]:
    first = log.start()["next"]
    batches = list(log.read({"next": first + start}, {"next": first + end}))
    return pa.Table.from_batches(batches, schema=log.schema).to_pylist() if batches else []


def test_rows_come_due_at_the_rate(clock: list[int]) -> None:
    log = source_log(rate_input(rowsPerSecond=1000.0), "")
    place = log.start()
    assert log.advance(place, 0, 64).place == place
    clock[0] += 2 * SECOND
    later = log.advance(place, 0, 64)
    assert later.place["next"] - place["next"] == 2000
    assert not later.ended
    clock[0] += 3600 * SECOND
    most = log.advance(place, 0, 2, Room(10**9, 10**9)).place["next"] - place["next"]
    assert most == 2 * rate_log.BATCH_ROWS, "at most two batches at once"


def test_any_split_gives_the_same_rows(clock: list[int]) -> None:
    log = source_log(rate_input(rowsPerSecond=500.0), "")
    assert isinstance(log, RateLog)
    whole = rows(log, 0, 1000)
    assert rows(log, 0, 300) + rows(log, 300, 301) + rows(log, 301, 1000) == whole
    assert len({row["_id"] for row in whole}) == 1000
    assert {type(row["name"]) for row in whole} == {str}
    assert len({row["k"] for row in whole}) > 300
    times = [row["ts"].timestamp() for row in whole]  # type: ignore[attr-defined]
    assert times[1] - times[0] == pytest.approx(0.002, abs=1e-6)
    assert times == sorted(times)


def test_the_clock_is_below_every_row_that_comes(clock: list[int]) -> None:
    log = source_log(rate_input(rowsPerSecond=3.0), "")
    assert isinstance(log, RateLog)
    place = log.start()
    for step in (400_000, 100_000, 700_000, 5_000_000):
        clock[0] += step
        advance = log.advance(place, 0, 64)
        due = advance.place["next"]
        upcoming = pa.Table.from_batches(log.read({"next": due}, {"next": due + 1})).to_pylist()
        assert advance.clock < upcoming[0]["ts"].timestamp() * 1e6
        place = advance.place


def test_a_finite_one_ends(clock: list[int]) -> None:
    log = source_log(rate_input(rowsPerSecond=10.0, rows=25), "")
    place = log.start()
    clock[0] += 60 * SECOND
    end = log.advance(place, 0, 64)
    assert (end.place["next"] - place["next"], end.clock, end.ended) == (25, FOREVER, True)


def test_every_reader_sees_the_same_rows_wherever_it_begins(clock: list[int]) -> None:
    """So two fragments agree, and a changed plan reads again what it needs."""
    log = source_log(rate_input(rowsPerSecond=50.0), "")
    assert isinstance(log, RateLog)
    first = rows(log, 0, 100)
    clock[0] += 3600 * SECOND
    again = source_log(replace(rate_input(rowsPerSecond=50.0), after=NOW - 1), "")
    assert isinstance(again, RateLog)
    assert rows(again, 0, 100) == first
    other = source_log(replace(rate_input(rowsPerSecond=50.0, seed=7), after=NOW - 1), "")
    assert isinstance(other, RateLog)
    assert [row["k"] for row in rows(other, 0, 100)] != [row["k"] for row in first]


def test_spark_may_ask_twice_where_it_begins(clock: list[int], tmp_path: Path) -> None:
    """Of two readers, and time goes on in between: 107 of 200 rows were lost."""
    item = rate_input(rowsPerSecond=400.0, rows=200)
    first, second = (WeirStreamReader(source_log(item, ""), "r", Control(tmp_path), 64) for _ in "12")
    begin = first.initialOffset()
    clock[0] += SECOND
    assert second.initialOffset() == begin
    end = second.latestOffset(begin, None)
    clock[0] += SECOND
    last = second.latestOffset(end, None)
    assert (last["at"]["next"] - end["from"]["next"], last["ended"]) == (200, True)


def test_a_rate_is_needed() -> None:
    with pytest.raises(FragmentError, match=r"input r: source.rate.rowsPerSecond: missing"):
        source_log(rate_input(), "")
