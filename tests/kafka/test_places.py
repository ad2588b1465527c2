"""Where a topic's reader goes on when offsets are not what they were: nothing is skipped without a word."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from weir_runtime.logs.log import Place
from weir_runtime.logs.losses import DataLoss
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources.kafka import log as kafka_log
from weir_runtime.sources.kafka.log import KafkaLog

from tests.kafka.broker import Broker
from tests.kafka.topics import ORIGIN, SCHEMA, SECOND, Topic, at, follow, rows

_numbers = itertools.count()


@pytest.fixture
def topic(broker: Broker) -> Topic:
    """Of one partition, without rows."""
    return Topic(broker, f"places-{next(_numbers)}")


def log_of(topic: Topic, ahead: Path | None = None, sidelog: str = "", **options: str) -> KafkaLog:
    return KafkaLog({**topic.options, **options}, SCHEMA, "ts", 0, sidelog, ahead)


def test_latest_begins_at_one_offset_however_often_it_is_asked(topic: Topic, tmp_path: Path) -> None:
    """Spark asks for the initial offset twice in one life, and once more in the next."""
    topic.send(range(5))
    log = log_of(topic, startingOffsets="latest")
    reader = WeirStreamReader(log, "a", Control(tmp_path), 64)
    first = reader.initialOffset()
    end = reader.latestOffset(first, None)
    topic.send(range(5, 8))
    assert reader.initialOffset() == first
    assert rows(log, [end["from"], end["at"]]) == []
    places = follow(log, end["at"], at(p0=8))
    assert rows(log, [end["from"], *places]) == [5, 6, 7]


@pytest.mark.parametrize("near", [True, False])
def test_a_range_without_a_row_is_passed(topic: Topic, tmp_path: Path, near: bool) -> None:
    """Aborted messages, tombstones, the markers of a transaction."""
    log = log_of(topic, tmp_path / "ahead" if near else None)
    places = follow(log, log.start(), at(p0=0))
    topic.abort([1, 2])
    places += follow(log, places[-1], lambda place: place["next"]["0"] == 3)[1:]
    topic.send_values([None, None])
    places += follow(log, places[-1], lambda place: place["next"]["0"] == 5)[1:]
    assert rows(log, places) == []
    topic.send([7])
    places += follow(log, places[-1], at(p0=6))[1:]
    assert rows(log, places) == [7]
    assert rows(log_of(topic), [places[0], places[-1]]) == [7]


def test_a_reader_that_retention_overtakes_says_how_many_rows_are_gone(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.send(range(10))
    log = log_of(topic)
    *_, place = follow(log, log.start(), at(p0=10))
    monkeypatch.setattr(kafka_log, "_readers", {})  # as after a stop: nothing has been fetched ahead
    topic.send(range(10, 20))
    topic.delete_below(14)
    with pytest.raises(DataLoss, match=r"topic places-\d+: 4 rows of partition 0 .*onDataLoss: Continue"):
        follow(log, place, at(p0=20))
    patient = log_of(topic, onDataLoss="Continue")
    places = follow(patient, place, at(p0=20))
    assert rows(patient, places) == [*range(14, 20)]
    assert patient.lost(place, places[-1]) == 4
    assert patient.lost(places[-1], places[-1]) == 0


def test_a_replay_of_rows_that_are_gone_is_refused_or_reads_what_is_left(topic: Topic) -> None:
    topic.send(range(10))
    log = log_of(topic)
    places = follow(log, log.start(), at(p0=10))
    topic.delete_below(4)
    with pytest.raises(DataLoss, match="4 rows of partition 0"):
        rows(log, places)
    assert rows(log_of(topic, onDataLoss="Continue"), places) == [*range(4, 10)]


def test_a_topic_that_was_made_again_is_seen_by_its_id(topic: Topic) -> None:
    topic.send(range(3))
    log = log_of(topic)
    before = follow(log, log.start(), at(p0=3))
    ids = [b for batch in log.read(before[-2], before[-1]) for b in batch.column("_id").to_pylist()]
    topic.make_again()
    topic.send(range(20, 26))  # more than were read: offsets alone show nothing
    with pytest.raises(DataLoss, match="recreated"):
        follow(log, before[-1], at(p0=6))
    with pytest.raises(DataLoss, match="recreated"):
        rows(log, before)
    patient = log_of(topic, onDataLoss="Continue")
    places = follow(patient, before[-1], at(p0=6))
    assert rows(patient, places) == [*range(20, 26)]
    again = [b for batch in patient.read(places[-2], places[-1]) for b in batch.column("_id").to_pylist()]
    assert sorted(ids + again) == ids + again, "ids go on where those of the topic before have ended"
    assert len({*ids, *again}) == 9
    assert rows(patient, before) == []


def test_a_planned_batch_of_a_topic_made_again_and_shorter_is_told(topic: Topic) -> None:
    topic.send(range(5))
    log = log_of(topic)
    before = follow(log, log.start(), at(p0=5))[-1]
    topic.send(range(5, 9))
    planned = follow(log, before, at(p0=9))[-1]
    topic.make_again()
    topic.send([20, 21])
    with pytest.raises(DataLoss, match="recreated"):
        rows(log, [before, planned])
    assert rows(log_of(topic, onDataLoss="Continue"), [before, planned]) == []


def test_late_rows_of_a_topic_made_again_are_counted_apart(topic: Topic, tmp_path: Path) -> None:
    topic.send([10, 5])
    log = log_of(topic, sidelog=str(tmp_path), onDataLoss="Continue")
    before = follow(log, log.start(), at(p0=2))
    assert rows(log, before) == [10]
    topic.make_again()
    topic.send([4, 11])
    places = follow(log, before[-1], at(p0=2))
    assert len(places) == 1  # not seen yet: the new one stands where the old one did
    places = follow(log, before[-1], lambda place: "base" in place and place["next"] == {"0": 2})
    assert rows(log, places) == [11]
    assert (log.late(None, before[-1]), log.late(before[-1], places[-1])) == (1, 1)


def test_partitions_that_are_added_are_read_from_their_first_row(topic: Topic) -> None:
    topic.send([10])
    log = log_of(topic, startingOffsets="latest")
    places = follow(log, log.start(), at(p0=1))
    topic.send([20])
    places += follow(log, places[-1], at(p0=2))[1:]
    topic.widen(2)
    topic.send([15, 21, 22], partition=1)  # the first is behind the clock
    places += follow(log, places[-1], at(p0=2, p1=3))[1:]
    assert rows(log, places) == [20, 21, 22]


def test_a_place_of_an_earlier_version_goes_on(topic: Topic) -> None:
    topic.send(range(6))
    old: Place = {"next": {"0": 2}, "max": {"0": ORIGIN + SECOND}}
    log = log_of(topic)
    places = follow(log, old, at(p0=6))
    assert rows(log, places) == [2, 3, 4, 5]
    planned: Place = {"next": {"0": 6}, "max": {"0": ORIGIN + 5 * SECOND}}
    assert rows(log, [log.start(), planned]) == [*range(6)], "a first batch that was planned before"
