"""What is on its way to brokers is bounded, and time counts from the last thing that they confirmed."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from weir_runtime.kafka_sends import CONFIRMED, IN_FLIGHT, Sends, send_settings
from weir_runtime.status import STUCK, ProcessStatus


class SlowBrokers:
    """A producer's, which confirm one message after the other, each after so many seconds of patience."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.elapsed = 0.0
        self.waiting: deque[int] = deque()
        self.most = 0  # [bytes] on their way at a time
        self.refused: set[int] = set()
        self.count = 0

    def send(self, topic: str, value: bytes, key: bytes, **others: Any) -> SimpleNamespace:
        self.waiting.append(len(value))
        self.most = max(self.most, sum(self.waiting))
        number = self.count
        self.count += 1

        def get(timeout: float) -> SimpleNamespace:
            if self.seconds > timeout:
                raise KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.")
            self.elapsed += self.seconds
            self.waiting.popleft()
            if number in self.refused:
                raise MessageSizeTooLargeError
            return SimpleNamespace(offset=100 + number)

        return SimpleNamespace(get=get)


def test_a_batch_may_take_longer_than_brokers_may_be_silent() -> None:
    brokers = SlowBrokers(CONFIRMED * 0.9)
    sends = Sends(brokers, "t")
    for _ in range(50):
        sends.send(b"v" * (IN_FLIGHT // 4 - 1_000), b"k", [])
    assert brokers.most < IN_FLIGHT
    assert brokers.waiting, "it does not wait for each"
    sends.await_all()
    assert not brokers.waiting
    assert brokers.elapsed > 40 * CONFIRMED
    assert (sends.first, sends.last, sends.count) == (100, 149, 50)
    assert sends.bytes == 50 * (IN_FLIGHT // 4 - 1_000)


def test_a_batch_may_run_longer_while_brokers_confirm_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers = SlowBrokers(CONFIRMED * 0.9)
    monkeypatch.setattr("time.monotonic", lambda: 1_000.0 + brokers.elapsed)
    sends = Sends(brokers, "t")
    status = ProcessStatus(str(tmp_path / "state.json"), "f", 1)
    status.say(phase="running")
    status.begin(0, lambda: sends.allowance)
    for _ in range(50):
        sends.send(b"v" * (IN_FLIGHT // 4 - 1_000), b"k", [])
    sends.await_all()
    assert brokers.elapsed > 5 * STUCK
    assert not status.hangs()
    brokers.elapsed += STUCK + 1
    assert "batch 0" in status.hangs(), "they have confirmed nothing since"


def test_many_small_messages_are_bounded_too() -> None:
    """Each takes some memory of its own."""
    brokers = SlowBrokers(0)
    sends = Sends(brokers, "t")
    for _ in range(20_000):
        sends.send(b"v", b"k", [])
    assert len(brokers.waiting) < 5_000


def test_one_that_is_larger_than_all_that_may_wait_goes_alone() -> None:
    brokers = SlowBrokers(0)
    sends = Sends(brokers, "t")
    for size in (10, 2 * IN_FLIGHT, 10):
        sends.send(b"v" * size, b"k", [])
    assert brokers.most == 2 * IN_FLIGHT
    sends.await_all()


def test_silence_is_an_error_that_names_the_topic() -> None:
    sends = Sends(SlowBrokers(CONFIRMED + 1), "t")
    sends.send(b"v" * (IN_FLIGHT // 2), b"k", [])
    with pytest.raises(KafkaTimeoutError, match="topic t: brokers have confirmed nothing for 120 s, while 1"):
        sends.send(b"v" * (IN_FLIGHT // 2), b"k", [])


def test_what_brokers_refuse_is_an_error() -> None:
    brokers = SlowBrokers(0)
    brokers.refused = {2}
    sends = Sends(brokers, "t")
    for _ in range(4):
        sends.send(b"v", b"k", [])
    with pytest.raises(MessageSizeTooLargeError):
        sends.await_all()


def test_nothing_sent_has_no_offsets() -> None:
    sends = Sends(SlowBrokers(0), "t")
    sends.await_all()
    assert (sends.first, sends.last, sends.count, sends.bytes) == (-1, -1, 0, 0)


def test_a_request_is_tried_again_while_its_messages_have_time() -> None:
    settings = send_settings()
    assert settings["request_timeout_ms"] < CONFIRMED * 1000 < settings["delivery_timeout_ms"]
