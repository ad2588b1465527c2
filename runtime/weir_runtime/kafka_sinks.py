"""Sinks that are topics: at least once for any reader, or once for readers of committed transactions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.identity import digest

from weir_runtime.compiler import ID
from weir_runtime.faults import reach
from weir_runtime.json_values import json_values
from weir_runtime.kafka_clients import NO_ANSWER, client_settings, librdkafka_settings
from weir_runtime.publish import BatchSink, Fence, OtherNumbering, user_rows
from weir_runtime.unreachable import ServersAway

PATIENCE = 60.0
"""[s] for the brokers to begin or end a transaction."""

CLAIM = 10.0
"""[s] for them to answer a claim, which is asked again."""

TRANSACTION_REMEDY = (
    "To begin anew, give the sink another topic, or delete that consumer group and the query's rows in the "
    "topic; to go on, bring the checkpoint back."
)


class RowMessages:
    """What a batch is as messages: each row as JSON, its id as text in the header `weir-row`: `owner`, which
    tells it from rows of other plans and queries with the same id, and the id's hexadecimal digits. The key
    is that too, so that what is written again comes into the same partition, or with the option `key` the
    JSON of those columns. Raises FragmentError for options that do not fit."""

    def __init__(self, options: dict[str, Any], columns: Sequence[tuple[str, str]], owner: str) -> None:
        if "topic" not in options:
            raise FragmentError("fragment.output.options.topic: missing; give the topic to write to")
        self.topic = str(options["topic"])
        self.owner = owner
        self._columns = list(columns)
        self._key = list(options.get("key") or ())
        names = [name for _, name in columns]
        for i, name in enumerate(self._key):
            if name not in names:
                raise FragmentError(
                    f"fragment.output.options.key[{i}]: no column {name!r}; there are {', '.join(names)}"
                )

    def of(self, table: pa.Table) -> Iterator[tuple[bytes, bytes, list[tuple[str, str | bytes | None]]]]:
        """Value, key and headers of each row."""
        rows = json_values(user_rows(table, self._columns))
        for row, row_id in zip(rows, table.column(ID).to_pylist(), strict=True):
            name = f"{self.owner}{row_id.hex()}".encode()
            key = json.dumps({column: row[column] for column in self._key}).encode() if self._key else name
            yield json.dumps(row).encode(), key, [("weir-row", name)]


class KafkaSink(BatchSink):
    """At least once for readers, who drop a row id that they have seen.

    Args:
        options: of the sink.
        columns: (column, name that readers see), in order.
        owner: as of `RowMessages`.
    """

    def __init__(self, options: dict[str, Any], columns: Sequence[tuple[str, str]], owner: str = "") -> None:
        from kafka import KafkaProducer

        self._messages = RowMessages(options, columns, owner)
        self._producer = KafkaProducer(**client_settings(options), acks="all", linger_ms=5)

    def keep_plain_ids(self) -> None:
        """As of BatchSink."""
        self._messages.owner = ""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Returns when the brokers have all of the batch. Raises when one message could not be written."""
        fence()
        if table.num_rows == 0:
            return 0
        futures, size = [], 0
        reach("before-publish")
        for value, key, headers in self._messages.of(table):
            size += len(value)
            futures.append(self._producer.send(self._messages.topic, value, key, headers=headers))
        self._producer.flush()
        for future in futures:
            future.get(timeout=30)
        reach("after-publish")
        return size

    def close(self) -> None:
        """As of BatchSink. A batch whose write did not return is written again by whoever follows."""
        self._producer.close(timeout=0)


class TransactionalKafkaSink(BatchSink):
    """Each batch is one transaction: whoever reads with `isolation.level=read_committed` sees each row once.

    Which batch comes next is committed in the same transaction: as the offset of a consumer group of its own,
    with the numbering as its metadata. So a batch that comes again is known. The transactional id belongs to
    one checkpoint: a claim ends what an earlier process has left open, and the brokers refuse what that one
    may still send.

    Args:
        spec: of the fragment that writes.
        prefix: the checkpoint's name, so that a changed plan has a group of its own: behind a cut both
            write for a while.
        columns: (column, name that readers see), in order.
    """

    def __init__(self, spec: FragmentSpec, prefix: str, columns: Sequence[tuple[str, str]]) -> None:
        options = dict(spec.output.options)
        self._settings = librdkafka_settings(options)
        self._messages = RowMessages(options, columns, owner_of_rows(spec, prefix))
        self._query = f"weir-sink.{spec.namespace}.{spec.query}"
        self._group = f"{self._query}.{prefix}"
        self._continues = bool(spec.output.after)
        self._progress = Consumer({**self._settings, "group.id": self._group, "enable.auto.commit": False})
        self._producer: Producer | None = None
        self._numbering = ""
        self._next = 0

    def keep_plain_ids(self) -> None:
        """As of BatchSink."""
        self._messages.owner = ""

    def claim(self, numbering: str, fresh: bool) -> None:
        """Reads which batch comes next; for a fresh checkpoint writes that it is the first, unless another
        plan of the query has rows in the topic, behind which this one does not go on from a cut.

        Raises:
            ServersAway: the brokers do not answer, or a transaction of another plan is open.
            OtherNumbering: there are batches of another checkpoint.
        """
        try:
            self._claim(numbering, fresh)
        except KafkaException as error:
            if error.args[0].code() not in NO_ANSWER:
                raise
            brokers = self._settings["bootstrap.servers"]
            raise ServersAway(f"sink.kafka: {brokers}: {error.args[0].str()}") from error

    def _claim(self, numbering: str, fresh: bool) -> None:
        self._numbering = numbering
        self._producer = Producer(
            {
                **self._settings,
                "transactional.id": f"{self._group}.{numbering}",
                "linger.ms": 5,
                "partitioner": "murmur2_random",  # a key's partition is the one that Java's client gives it
            }
        )
        self._producer.init_transactions(CLAIM)  # first, as it ends what an earlier process has left open
        if fresh and not self._continues:
            self._refuse_other_plans(numbering)
        [place] = self._progress.committed([TopicPartition(self._messages.topic, 0)], CLAIM)
        if place.offset >= 0:
            self._check(place, self._group, numbering)
            self._next = int(place.offset)
        elif fresh:
            self._producer.begin_transaction()
            self._commit(0)
        else:
            forgotten = "no longer says which batch comes next: one that was being written may appear twice"
            print(f"{self._where(self._group)}: {forgotten}", file=sys.stderr)

    def _refuse_other_plans(self, numbering: str) -> None:
        """By the groups of all plans that this query ever had. The one of a plan that has only claimed the
        topic says that batch 0 is next."""
        admin = AdminClient(self._settings)
        listed = admin.list_consumer_groups(request_timeout=CLAIM).result()
        for error in listed.errors:
            raise error
        names = sorted(group.group_id for group in listed.valid)
        for group in (name for name in names if name.rpartition(".")[0] == self._query):
            wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(self._messages.topic, 0)])
            (answer,) = admin.list_consumer_group_offsets(
                [wanted], require_stable=True, request_timeout=CLAIM
            ).values()
            for place in answer.result().topic_partitions:
                if place.error:
                    raise KafkaException(place.error)
                if place.offset > 0:
                    self._check(place, group, numbering)

    def _check(self, place: TopicPartition, group: str, numbering: str) -> None:
        theirs = json.loads(place.metadata or "{}").get("numbering", "")
        if theirs != numbering:
            raise OtherNumbering(self._where(group), theirs, numbering, TRANSACTION_REMEDY)

    def _where(self, group: str) -> str:
        return f"topic {self._messages.topic}, consumer group {group}"

    def beyond(self, planned: int) -> str:
        """By the group's offset."""
        last = self._next - 1
        return f"{self._where(self._group)}: batch {last}" if last > planned else ""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Returns when the batch is committed; the bytes of its messages, 0 when it was before.

        Raises:
            KafkaException: it could not be written, or another process has claimed the sink.
        """
        if number < self._next or table.num_rows == 0:
            fence()
            return 0
        producer = self._claimed()
        reach("before-temporary")
        producer.begin_transaction()
        size = 0
        for value, key, headers in self._messages.of(table):
            size += len(value)
            self._produce(producer, value, key, headers)
        producer.flush(PATIENCE)
        reach("after-temporary")
        self._commit(number + 1, fence)
        reach("after-publish")
        return size

    def close(self) -> None:
        """As of BatchSink. A transaction that is open is given up by whoever claims the sink next."""
        self._producer = None  # librdkafka's clients are closed when nobody has them any more
        self._progress.close()

    def _produce(self, producer: Producer, value: bytes, key: bytes, headers: Any) -> None:
        while True:
            try:
                producer.produce(self._messages.topic, value, key, headers=headers)
                return
            except BufferError:  # as many wait as the client holds
                producer.poll(0.1)

    def _commit(self, beyond: int, fence: Fence | None = None) -> None:
        """Ends the transaction; when a message of it was not written, it is an error."""
        producer = self._claimed()
        about = json.dumps({"numbering": self._numbering})
        place = TopicPartition(self._messages.topic, 0, beyond, metadata=about)
        producer.send_offsets_to_transaction([place], self._progress.consumer_group_metadata(), PATIENCE)
        if fence:
            reach("before-publish")
            fence()
        producer.commit_transaction(PATIENCE)
        self._next = beyond

    def _claimed(self) -> Producer:
        if self._producer is None:
            raise RuntimeError("a batch before the sink was claimed")
        return self._producer


def owner_of_rows(spec: FragmentSpec, prefix: str) -> str:
    """What the ids of a plan's rows begin with: twelve hexadecimal digits, the same in all of its lives, and
    another for each query and plan."""
    return digest([spec.namespace, spec.query, prefix], 12) + "-"


def kafka_sink(spec: FragmentSpec, prefix: str, columns: Sequence[tuple[str, str]]) -> BatchSink:
    """As the option `transactional` says. Raises FragmentError for options that do not fit."""
    if spec.output.options.get("transactional"):
        return TransactionalKafkaSink(spec, prefix, columns)
    return KafkaSink(dict(spec.output.options), columns, owner_of_rows(spec, prefix))
