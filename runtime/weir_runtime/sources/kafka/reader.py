"""A topic by librdkafka: what it is, how far it goes, and its messages, all partitions side by side."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from math import inf
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from weir_runtime.kafka_clients import FETCH_WAIT_MS, METADATA_MS, librdkafka_settings, reader_settings
from weir_runtime.logs.log import ENDLESS, Room
from weir_runtime.sources.kafka.intake import Intake, Messages, Range
from weir_runtime.sources.kafka.place import TopicLayout

PATIENCE = 60.0
"""[s] A topic that is not there yet, or that gives nothing more, is waited for this long."""

ANSWER = 10.0
"""[s] Longest wait for an answer about a topic."""

WAIT = 0.1
"""[s] for which the client is asked for messages at once."""

CLIENT = {"reconnect.backoff.ms": 1_000}  # each try is a line in the log

CONSUMER = {
    **CLIENT,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": FETCH_WAIT_MS,
    "fetch.max.bytes": 8 * 2**20,
    "queued.max.messages.kbytes": 16 * 2**10,
    "fetch.queue.backoff.ms": 10,  # once the queue has room again; else a backlog waits a second each time
    "topic.metadata.refresh.interval.ms": METADATA_MS,
}


class NoTopic(LookupError):
    """There is none of this name."""


class KafkaReader:
    """One topic, for one log at a time.

    Args:
        options: of `source.kafka`: bootstrapServers, topic, security.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._topic: str = options["topic"]
        self._refusal: KafkaError | None = None  # the latest of a login
        self._admin = AdminClient(librdkafka_settings(options) | CLIENT | {"error_cb": self._hear})
        self._settings = reader_settings(options, "weir") | CONSUMER
        self._consumer = Consumer(self._settings)
        self._id = ""
        self._positions: dict[str, int] = {}  # as far as messages were taken; empty: nothing is assigned
        self._early: list[Message] = []  # came before they were wanted

    def layout(self) -> TopicLayout:
        """Raises NoTopic, KafkaException when the brokers do not answer, or refuse the login."""
        self._heard()
        try:
            (future,) = self._admin.describe_topics(
                TopicCollection([self._topic]), request_timeout=ANSWER
            ).values()
            about = future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise NoTopic(f"no topic {self._topic}") from error
            if (refusal := self._heard()) is not None:
                raise KafkaException(refusal) from error
            raise
        layout = TopicLayout(
            str(about.topic_id), tuple(str(number) for number in sorted(p.id for p in about.partitions))
        )
        if layout.id != self._id:
            self._renew(layout.id)
        return layout

    def ends(self, keys: Collection[str]) -> dict[str, int]:
        """The offset behind the last message that is committed, by partition. Raises KafkaException."""
        return self._listed(keys, OffsetSpec.latest())

    def beginnings(self, keys: Collection[str]) -> dict[str, int]:
        """The first offset that is left, by partition. Raises KafkaException."""
        return self._listed(keys, OffsetSpec.earliest())

    def fetch(
        self, ranges: Mapping[str, Range], room: Room = ENDLESS, seconds: float = inf
    ) -> dict[str, Messages]:
        """Messages of all `ranges` as they come, until each has got up to its `until`, or they have taken the
        `room`, and in bytes one message more, or `seconds`.

        Raises:
            OffsetsGone: one of the offsets is not there.
            TimeoutError: nothing comes any more.
        """
        intake = Intake(ranges, room)
        intake.take(self._aim({key: item.first for key, item in ranges.items()}))
        paused: list[TopicPartition] = []
        try:
            self._fill(intake, seconds, paused)
        finally:
            if paused:  # also another assignment would leave them so
                self._consumer.resume(paused)
        if not paused:  # else what came early is not all that comes next
            self._early = intake.early
            self._positions = {key: item.reached for key, item in intake.messages.items()}
        return intake.messages

    def _fill(self, intake: Intake, seconds: float, paused: list[TopicPartition]) -> None:
        begin = last = time.monotonic()
        while not intake.is_full() and intake.left():
            intake.take(self._consumer.consume(intake.chunk(), WAIT))
            now = time.monotonic()
            if intake.moved:
                last = now
                if now > begin + seconds:
                    return
            elif now > last + PATIENCE:
                raise TimeoutError(f"topic {self._topic}: nothing more, {intake.unfinished()}")
            full = {*intake.full()} - {item.partition for item in paused}
            if full:
                paused += (more := [TopicPartition(self._topic, number) for number in full])
                self._consumer.pause(more)

    def _aim(self, firsts: dict[str, int]) -> list[Message]:
        """The consumer's next messages are those from `firsts` on; those of them that have come already."""
        early = self._early
        if firsts != self._positions:
            self._consumer.assign([TopicPartition(self._topic, int(key), at) for key, at in firsts.items()])
            early = []
        self._early, self._positions = [], {}  # until it is known how far this fetch gets
        return early

    def _listed(self, keys: Collection[str], spec: OffsetSpec) -> dict[str, int]:
        if not keys:
            return {}
        specs = {TopicPartition(self._topic, int(key)): spec for key in keys}
        answers = self._admin.list_offsets(
            specs, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER
        )
        return {
            str(partition.partition): int(answer.result().offset) for partition, answer in answers.items()
        }

    def _hear(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            self._refusal = error

    def _heard(self) -> KafkaError | None:
        """How a login was refused since the last call: the client tries again, and what it was asked only
        times out."""
        self._refusal = None
        self._admin.poll(0)
        return self._refusal

    def _renew(self, topic_id: str) -> None:
        """Another consumer for another topic: what this one has fetched, and knows of its leaders, is of
        the one before."""
        if self._id:
            self._consumer.close()
            self._consumer = Consumer(self._settings)
        self._id, self._positions, self._early = topic_id, {}, []
