"""A partition in which nothing comes holds the clock no longer than its stream allows, in each life alike."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from weir_runtime.logs.log import Place
from weir_runtime.sources.kafka.log import KafkaLog

from tests.kafka.broker import Broker
from tests.kafka.topics import ORIGIN, SCHEMA, SECOND, Topic, at, follow, rows

_numbers = itertools.count()
TIMEOUT = 60.0


class HandClock:
    """Time that passes when a test says so; the client's own goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._passed, monotonic = 0.0, time.monotonic
        monkeypatch.setattr(
            "weir_runtime.sources.kafka.idle.time.monotonic", lambda: monotonic() + self._passed
        )

    def go(self, seconds: float) -> None:
        self._passed += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    return HandClock(monkeypatch)


@pytest.fixture
def topic(broker: Broker) -> Topic:
    """Of two partitions; the second is silent."""
    topic = Topic(broker, f"idle-{next(_numbers)}", 2)
    topic.send([10, 20])
    return topic


def log_of(topic: Topic, sidelog: str = "", timeout: float = TIMEOUT) -> KafkaLog:
    return KafkaLog(topic.options, SCHEMA, "ts", 0, sidelog, None, round(timeout * SECOND))


def clock_of(log: KafkaLog, place: Place) -> float:
    """[s] after ORIGIN, of a place from which nothing is new."""
    return (log.advance(place, 0, 64).clock - ORIGIN) / SECOND


def test_a_silent_partition_holds_the_clock_until_its_time_is_over(topic: Topic, clock: HandClock) -> None:
    log, patient = log_of(topic), log_of(topic, timeout=0)
    places = follow(log, log.start(), at(p0=2, p1=0))
    assert clock_of(log, places[-1]) < 0
    assert log.idle(places[-1]) == 0
    clock.go(TIMEOUT + 1)
    assert patient.advance(places[-1], 0, 64).clock == 0, "without a timeout it holds it for ever"
    topic.send([22])
    end = follow(log, places[-1], at(p0=3, p1=0))[-1]
    assert log.idle(end) == 1
    assert 21 < clock_of(log, end) < 22
    topic.send([30])
    after = follow(log, end, at(p0=4, p1=0))[-1]
    assert 29 < clock_of(log, after) < 30, "and goes on"


def test_another_life_decides_the_same(topic: Topic, clock: HandClock) -> None:
    log = log_of(topic)
    place = follow(log, log.start(), at(p0=2, p1=0))[-1]
    log.advance(place, 0, 64)
    clock.go(TIMEOUT + 1)
    end = log.advance(place, 0, 64).place
    topic.send([30])
    later = log_of(topic)  # has not seen the silence
    after = follow(later, end, at(p0=3, p1=0))[-1]
    assert later.idle(after) == 1
    assert 29 < clock_of(later, after) < 30


def test_rows_that_come_back_behind_the_clock_are_late_and_the_others_are_not(
    topic: Topic, clock: HandClock, tmp_path: Path
) -> None:
    log = log_of(topic, str(tmp_path))
    places = follow(log, log.start(), at(p0=2, p1=0))
    log.advance(places[-1], 0, 64)
    clock.go(TIMEOUT + 1)
    topic.send([22])
    places += follow(log, places[-1], at(p0=3, p1=0))[1:]
    topic.send([15, 22, 23], partition=1)
    places += follow(log, places[-1], at(p0=3, p1=3))[1:]
    assert log.idle(places[-1]) == 0, "it is waited for again"
    assert 21 < clock_of(log, places[-1]) < 22
    assert rows(log, places) == [10, 20, 22, 22, 23]
    assert log.late(None, places[-1]) == 1
    assert rows(log_of(topic), places) == [10, 20, 22, 22, 23], "a replay"


def test_when_all_are_silent_the_clock_follows_the_fastest(topic: Topic, clock: HandClock) -> None:
    topic.send([5], partition=1)
    log = log_of(topic)
    place = follow(log, log.start(), at(p0=2, p1=1))[-1]
    assert 4 < clock_of(log, place) < 5
    clock.go(TIMEOUT + 1)
    end = log.advance(place, 0, 64).place
    assert log.idle(end) == 2
    assert 19 < clock_of(log, end) < 20
    assert log.advance(end, 0, 64).place == end, "and rests"


def test_a_backlog_is_no_silence(topic: Topic, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> None:
    topic.send([1, 2, 3], partition=1)
    log = log_of(topic)
    monkeypatch.setattr("weir_runtime.sources.kafka.log.BATCH_ROWS", 1)
    place = log.advance(log.start(), 0, 64).place
    for _ in range(2):
        place = log.advance(place, 0, 1).place
        assert log.idle(place) == 0
        clock.go(TIMEOUT + 1)
    assert place["next"] == {"0": 2, "1": 2}
