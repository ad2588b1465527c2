"""A batch's messages on their way to brokers, of which only a few are in this process at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError

CONFIRMED = 120.0
"""[s] Longest wait in which brokers confirm nothing; a batch may take any time while they do."""

IN_FLIGHT = 2 * 2**20
"""[bytes] at most that brokers have not confirmed."""

OVERHEAD = 512
"""[bytes] What a message takes in this process besides key and value, about."""


def send_settings() -> dict[str, Any]:
    """Of a producer of kafka-python. A request is tried again while its messages have time, and these have
    more than CONFIRMED: over a thin link one waits for all that is before it."""
    limit = int(CONFIRMED * 1000)
    return {"acks": "all", "request_timeout_ms": limit // 4, "delivery_timeout_ms": 10 * limit}


def close_at_once(producer: KafkaProducer) -> None:
    """Closes it without waiting; what brokers do not have yet is given up."""
    producer.flush = lambda timeout=None: None  # as `close` calls it, it raises where something waits
    producer.close(timeout=0)


class Sends:
    """Sends to one topic with a producer of kafka-python.

    Attributes:
        first, last: the lowest and the highest offset of those that were confirmed; -1: none was.
        count, bytes: of the messages that were sent, and of their values.
        allowance: as of `publish.Sending`: the time from the beginning to the last confirmation.
    """

    def __init__(self, producer: KafkaProducer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._waiting: deque[tuple[Any, int]] = deque()  # the promise of each message, and its size
        self._in_flight = 0  # [bytes]
        self.first = self.last = -1
        self.count = self.bytes = 0
        self._began = time.monotonic()
        self.allowance = 0.0

    def send(
        self,
        value: bytes,
        key: bytes,
        headers: Sequence[tuple[str, Any]],
        partition: int | None = None,
    ) -> None:
        """Returns when it is on its way; waits for the oldest ones while too much is. Raises KafkaError when
        one was not written."""
        size = len(value) + len(key) + OVERHEAD
        while self._waiting and self._in_flight + size > IN_FLIGHT:
            self._await_oldest()
        promise = self._producer.send(self._topic, value, key, headers=list(headers), partition=partition)
        self._waiting.append((promise, size))
        self._in_flight += size
        self.count += 1
        self.bytes += len(value)

    def await_all(self) -> None:
        """Returns when the brokers have every message. Raises KafkaError when one was not written."""
        while self._waiting:
            self._await_oldest()

    def _await_oldest(self) -> None:
        promise, size = self._waiting.popleft()
        try:
            offset = promise.get(timeout=CONFIRMED).offset
        except KafkaTimeoutError as error:
            raise KafkaTimeoutError(
                f"topic {self._topic}: brokers have confirmed nothing for {CONFIRMED:g} s, while "
                f"{self._in_flight} bytes were on their way: {error}"
            ) from error
        self.allowance = time.monotonic() - self._began
        self._in_flight -= size
        self.first = offset if self.first < 0 else min(self.first, offset)
        self.last = max(self.last, offset)
