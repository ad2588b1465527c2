"""Topics for tests of the source: rows into partitions, transactions, and what a reader finds in them."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from weir_runtime.logs.log import Log, Place

from tests.kafka.broker import Broker

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
SECOND = 1_000_000
ORIGIN = 1_767_225_600 * SECOND
"""[us] 2026-01-01T00:00:00Z: rows are so many seconds later."""


class Topic:
    """One topic of a broker; made at once."""

    def __init__(self, broker: Broker, name: str, partitions: int = 1) -> None:
        self.name = name
        self.options = {**broker.options, "topic": name}
        self._settings = {"bootstrap.servers": broker.address, "log_level": 0}
        self._admin = AdminClient(self._settings)
        self._producer = Producer(self._settings)
        self.create(partitions)

    def create(self, partitions: int = 1) -> None:
        """Tried again while one of the same name is not gone yet."""
        self._until_done(lambda: self._admin.create_topics([NewTopic(self.name, partitions, 1)]))
        self._until_done(lambda: self._admin.describe_topics(TopicCollection([self.name])))

    def make_again(self, partitions: int = 1) -> None:
        """Another topic of the same name."""
        self._until_done(lambda: self._admin.delete_topics([self.name]))
        self.create(partitions)
        self._producer = Producer(self._settings)  # what it knows of the one before is wrong

    def widen(self, partitions: int) -> None:
        """To so many partitions."""
        self._until_done(lambda: self._admin.create_partitions([NewPartitions(self.name, partitions)]))
        self._producer = Producer(self._settings)

    def send(self, seconds: Sequence[int], partition: int = 0) -> None:
        """A row each; `k` is its time."""
        for second in seconds:
            self._producer.produce(self.name, row(second), partition=partition)
        assert self._producer.flush(30) == 0

    def send_rows(self, rows: Sequence[Mapping[str, Any]], partition: int = 0) -> None:
        """As JSON."""
        for values in rows:
            self._producer.produce(self.name, json.dumps(values), partition=partition)
        assert self._producer.flush(30) == 0

    def send_values(self, values: Sequence[bytes | None], key: bytes = b"k") -> None:
        """To partition 0 as they are; None is a tombstone."""
        for value in values:
            self._producer.produce(self.name, value, key, partition=0)
        assert self._producer.flush(30) == 0

    def abort(self, seconds: Sequence[int]) -> None:
        """Rows of a transaction that is given up."""
        producer = Producer({**self._settings, "transactional.id": f"{self.name}-aborts"})
        producer.init_transactions(60)
        producer.begin_transaction()
        for second in seconds:
            producer.produce(self.name, row(second), partition=0)
        producer.flush(30)
        producer.abort_transaction(30)

    def delete_below(self, offset: int, partition: int = 0) -> None:
        """As retention does."""
        (process,) = self._admin.delete_records([TopicPartition(self.name, partition, offset)]).values()
        process.result(30)

    def _until_done(self, ask: Callable[[], dict[Any, Any]], seconds: float = 30.0) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                for future in ask().values():
                    future.result(30)
            except KafkaException as error:
                again = (KafkaError.TOPIC_ALREADY_EXISTS, KafkaError.UNKNOWN_TOPIC_OR_PART)
                if error.args[0].code() not in again or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


def row(second: int) -> bytes:
    """A message."""
    return json.dumps(
        {"k": second, "ts": f"2026-01-01T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"}
    ).encode()


def follow(log: Log, place: Place, wanted: Callable[[Place], bool], seconds: float = 20.0) -> list[Place]:
    """All places from `place` to the first that is `wanted`."""
    places, deadline = [place], time.monotonic() + seconds
    while not wanted(places[-1]):
        assert time.monotonic() < deadline, f"still at {places[-1]}"
        after = log.advance(places[-1], 0, 64).place
        if after != places[-1]:
            places.append(after)
    return places


def rows(log: Log, places: Sequence[Place]) -> list[int]:
    """`k` of all rows on time between places, range by range."""
    return [
        k
        for start, end in itertools.pairwise(places)
        for batch in log.read(start, end)
        for k in batch.column("k").to_pylist()
    ]


def at(**offsets: int) -> Callable[[Place], bool]:
    """Whether a place has these offsets next: at(p0=3, p1=0)."""
    wanted = {name[1:]: offset for name, offset in offsets.items()}
    return lambda place: bool(place["next"] == wanted)
