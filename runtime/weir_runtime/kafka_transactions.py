"""A batch's messages in one transaction, of which only a few are in this process at a time."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Producer

from weir_runtime.kafka_sends import CONFIRMED, IN_FLIGHT

TRANSACTION = 900.0
"""[s] for a batch to be written; then brokers give its transaction up. The most that they allow unless they
are told otherwise (`transaction.max.timeout.ms`)."""

REQUEST = 60.0
"""[s] for the answer to one request, as the client has it by default; with a transactional id it would be the
transaction's time."""


def transaction_settings(transactional_id: str) -> dict[str, Any]:
    """Of a producer of librdkafka."""
    limit = int(TRANSACTION * 1000)
    return {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": limit,
        "socket.timeout.ms": min(int(REQUEST * 1000), limit - 100),
        "queue.buffering.max.kbytes": IN_FLIGHT // 1024,
        "linger.ms": 5,
        "partitioner": "murmur2_random",  # a key's partition is the one that Java's client gives it
    }


class TransactionSends:
    """Sends to one topic with a producer of librdkafka whose transaction has begun.

    Attributes:
        bytes: of the values.
        allowance: as of `publish.Sending`: the time from the beginning to the last confirmation.
    """

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self.bytes = 0
        self._began = time.monotonic()
        self.allowance = 0.0

    def send(self, value: bytes, key: bytes, headers: Any) -> None:
        """Returns when it is on its way. Raises TimeoutError, or KafkaException when it cannot be written."""
        while True:
            try:
                self._producer.produce(self._topic, value, key, headers=headers)
            except BufferError:  # as many wait as the client holds
                self._await_some()
            else:
                self.bytes += len(value)
                return

    def await_all(self) -> None:
        """Returns when no message waits: what was not written, the commit tells. Raises TimeoutError."""
        while len(self._producer):
            self._await_some()

    def _await_some(self) -> None:
        waiting, deadline = len(self._producer), time.monotonic() + CONFIRMED
        while len(self._producer) >= waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"topic {self._topic}: brokers have confirmed nothing for {CONFIRMED:g} s, while "
                    f"{waiting} messages were on their way"
                )
            self._producer.poll(0.1)
        self.allowance = time.monotonic() - self._began
