"""Rows too far ahead of the wall clock: what one reader has decided, a changed plan decides too."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from weir_runtime.logs import notes
from weir_runtime.logs.dead_letters import BadRows
from weir_runtime.logs.log import Log, Place
from weir_runtime.sources import source_log
from weir_runtime.sources.kafka.log import KafkaLog

from tests.runtime.support import ORIGIN, append_batch, source
from tests.runtime.test_kafka_beginnings import ORIGIN as TOPIC_ORIGIN
from tests.runtime.test_kafka_beginnings import SCHEMA, Brokers

SECOND = 1_000_000
MINUTE = 60 * SECOND


class SetClock:
    """The wall clock, seconds after the beginning of a log."""

    def __init__(self, beginning: int) -> None:
        self.beginning = beginning
        self.at = 0.0

    def time_ns(self) -> int:
        return self.beginning * 1_000 + int(self.at * 1e9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Of files' rows; notes are left at each step."""
    monkeypatch.setattr(notes, "NOTE", 0.0)
    wall = SetClock(ORIGIN)
    monkeypatch.setattr(time, "time_ns", wall.time_ns)
    return wall


def files_reader(root: Path, name: str, after: float = 0, ahead: int = MINUTE) -> Log:
    """Of another fragment of the same namespace; `after` in seconds."""
    since = ORIGIN + int(after * SECOND) if after else 0
    item = replace(source("a", root / "a"), max_ahead=ahead, after=since)
    return source_log(item, str(root / "late" / "default" / name / "a"))


def catch_up(log: Log, places: list[Place]) -> None:
    """Reads what is there, and adds the places."""
    while (following := log.advance(places[-1], 0, 64).place) != places[-1]:
        log.committed(following)
        places.append(following)


def read_between(log: Log, places: list[Place]) -> list[int]:
    """Column v of the rows on time, step by step."""
    steps = itertools.pairwise(places)
    return [row["v"] for a, b in steps for batch in log.read(a, b) for row in batch.to_pylist()]


def live(root: Path, clock: SetClock, reader: Log, far: set[int], minutes: int) -> list[Place]:
    """A row a minute, read as it comes; in the files `far` also one of half an hour ahead, 1,000 + number."""
    places = [reader.start()]
    for number in range(minutes):
        clock.at = number * 60
        rows = [(1, number, number * MINUTE)]
        rows += [(9, 1000 + number, (number + 30) * MINUTE)] if number in far else []
        append_batch(root / "a", number, rows)
        catch_up(reader, places)
    return places


@pytest.mark.parametrize("far", [{5}, {5, 6, 20}, set(range(40))], ids=["one", "some", "always"])
def test_a_changed_plan_leaves_out_the_rows_that_the_one_before_left_out(
    tmp_path: Path, clock: SetClock, far: set[int]
) -> None:
    old = files_reader(tmp_path, "old")
    before = live(tmp_path, clock, old, far, 40)
    assert read_between(old, before) == [*range(40)]
    new = files_reader(tmp_path, "new", after=60)
    places = [new.start()]
    catch_up(new, places)
    assert read_between(new, places) == [*range(2, 40)]
    assert new.bad(None, places[-1]) == len(far - {0, 1})
    assert sum(new.late(a, b) for a, b in itertools.pairwise(places)) == 0


def test_it_also_begins_where_the_one_before_would_have(tmp_path: Path, clock: SetClock) -> None:
    """A row that was left out does not say that its file is needed."""
    live(tmp_path, clock, files_reader(tmp_path, "old"), {5}, 40)
    files = (tmp_path / "late" / "default" / ".times").glob("*.json")
    (times,) = (path for path in files if isinstance(json.loads(path.read_text())[0], list))
    times.write_text(json.dumps(json.loads(times.read_text())[:1]))  # as when the others were thinned out
    assert files_reader(tmp_path, "new", after=60 * 20).start()["next"] == 21


def test_a_stream_that_allows_more_decides_anew(tmp_path: Path, clock: SetClock) -> None:
    live(tmp_path, clock, files_reader(tmp_path, "old"), {5}, 40)
    places = [files_reader(tmp_path, "new", after=60, ahead=0).start()]
    catch_up(files_reader(tmp_path, "new", after=60, ahead=0), places)
    assert "bad" not in places[-1]


def test_a_query_that_begins_decides_by_its_own_clock(tmp_path: Path, clock: SetClock) -> None:
    """So whoever has corrected a wrong clock can read the rows."""
    live(tmp_path, clock, files_reader(tmp_path, "old"), {5}, 40)
    other = files_reader(tmp_path, "other")
    places = [other.start()]
    catch_up(other, places)
    assert "bad" not in places[-1]


def test_a_log_that_was_begun_anew_has_nothing_decided(tmp_path: Path, clock: SetClock) -> None:
    live(tmp_path, clock, files_reader(tmp_path, "old"), {5}, 10)
    for path in (tmp_path / "a").iterdir():
        path.unlink()
    clock.at = 3600
    append_batch(tmp_path / "a", 0, [(1, i, i * MINUTE) for i in range(30, 60)])
    for number in range(1, 10):
        append_batch(tmp_path / "a", number, [(1, 100 + i, (60 + number) * MINUTE) for i in range(number)])
    clock.at = 7200
    new = files_reader(tmp_path, "new", after=60 * 30)
    places = [new.start()]
    catch_up(new, places)
    assert "bad" not in places[-1]


def test_no_more_is_kept_than_can_be_read_at_once(
    tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is merged still leaves out no row that was read."""
    monkeypatch.setattr(notes, "MOST", 4)
    old = files_reader(tmp_path, "old")
    live(tmp_path, clock, old, set(range(0, 40, 2)), 40)
    new = files_reader(tmp_path, "new", after=60)
    places = [new.start()]
    catch_up(new, places)
    rows = read_between(new, places)
    late = sum(new.late(a, b) for a, b in itertools.pairwise(places))
    assert len([v for v in rows if v < 1000]) + late == 38
    for file in (tmp_path / "late" / "default" / ".times").glob("*.json"):
        assert len(json.loads(file.read_text())) <= 4


def test_likewise_of_a_topic(tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 0 has a row of half an hour ahead at its 5th second, partition 1 is slower."""
    clock.beginning = TOPIC_ORIGIN
    brokers = Brokers({"0": [], "1": []})
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: brokers)

    def reader(name: str, after: int = 0) -> KafkaLog:
        since = TOPIC_ORIGIN + after * SECOND if after else 0
        options = {"bootstrapServers": "b:1", "topic": "t"}
        sidelog = str(tmp_path / "late" / "a" / name / "d")
        return KafkaLog(options, SCHEMA, "ts", 0, sidelog, bad_rows=BadRows(ahead=MINUTE), after=since)

    def read_on(log: KafkaLog, places: list[Place]) -> list[int]:
        begin = len(places) - 1
        catch_up(log, places)
        steps = zip(places[begin:], places[begin + 1 :], strict=False)
        return [row["k"] for a, b in steps for batch in log.read(a, b) for row in batch.to_pylist()]

    old = reader("old")
    places, kept = [old.start()], []
    for second in range(0, 3000, 30):
        clock.at = second
        brokers.seconds["0"] += [second, second + 1800] if second in (60, 90, 900) else [second]
        brokers.seconds["1"] += [second // 2]
        kept += read_on(old, places)
    everything = [*range(0, 3000, 30), *(second // 2 for second in range(0, 3000, 30))]
    assert sorted(kept) == sorted(everything)
    new = reader("new", after=30)
    places = [new.start()]
    again = read_on(new, places)
    begin = next(place["next"] for place in places if place["next"])
    assert len(again) == len(everything) - begin["0"] - begin["1"], "none is late"
    assert new.bad(None, places[-1]) == 3
