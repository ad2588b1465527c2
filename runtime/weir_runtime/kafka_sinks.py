"""Sinks that are topics: at least once for any reader, or once for readers of committed transactions."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.identity import digest

from weir_runtime.chunks import PYTHON_CHUNK, table_in_chunks
from weir_runtime.compiler import ID
from weir_runtime.faults import reach
from weir_runtime.json_values import json_values
from weir_runtime.kafka_clients import NO_ANSWER, client_settings, librdkafka_settings
from weir_runtime.kafka_sends import Sends, close_at_once, send_settings
from weir_runtime.kafka_transactions import TRANSACTION, TransactionSends, transaction_settings
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

TOO_SHORT = (
    "sink.kafka.transactional: the brokers at {brokers} refuse transactions that are open for {limit:g} s. "
    "Set their option transaction.max.timeout.ms to as much, or leave out transactional"
)

TOO_LONG = (
    "its transaction was open for more than {limit:g} s, so that the brokers have given it up. The link to "
    "them must carry a batch in that time; or leave out sink.kafka.transactional"
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
        """Value, key and headers of each row. Some rows at a time have values of Python."""
        for chunk in table_in_chunks(table, PYTHON_CHUNK):
            part = pa.Table.from_batches([chunk])
            rows = json_values(user_rows(part, self._columns))
            for row, row_id in zip(rows, part.column(ID).to_pylist(), strict=True):
                name = f"{self.owner}{row_id.hex()}".encode()
                key = self._key_of(row) if self._key else name
                yield json.dumps(row).encode(), key, [("weir-row", name)]

    def _key_of(self, row: dict[str, Any]) -> bytes:
        return json.dumps({column: row[column] for column in self._key}).encode()


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
        self._producer = KafkaProducer(**client_settings(options), **send_settings(), linger_ms=5)

    def keep_plain_ids(self) -> None:
        """As of BatchSink."""
        self._messages.owner = ""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Returns when the brokers have all of the batch. Raises KafkaError when one message could not be
        written."""
        fence()
        if table.num_rows == 0:
            return 0
        reach("before-publish")
        self._sending = sends = Sends(self._producer, self._messages.topic)
        for value, key, headers in self._messages.of(table):
            sends.send(value, key, headers)
        sends.await_all()
        reach("after-publish")
        return sends.bytes

    def close(self) -> None:
        """As of BatchSink. A batch whose write did not return is written again by whoever follows."""
        close_at_once(self._producer)


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
            FragmentError: the brokers allow no transaction that is open for so long.
        """
        try:
            self._claim(numbering, fresh)
        except KafkaException as error:
            brokers = self._settings["bootstrap.servers"]
            if error.args[0].code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
                raise FragmentError(TOO_SHORT.format(brokers=brokers, limit=TRANSACTION)) from error
            if error.args[0].code() not in NO_ANSWER:
                raise
            raise ServersAway(f"sink.kafka: {brokers}: {error.args[0].str()}") from error

    def _claim(self, numbering: str, fresh: bool) -> None:
        self._numbering = numbering
        self._producer = Producer({**self._settings, **transaction_settings(f"{self._group}.{numbering}")})
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
            TimeoutError: the brokers confirm nothing, or the transaction was open for too long.
        """
        if number < self._next or table.num_rows == 0:
            fence()
            return 0
        began = time.monotonic()
        try:
            return self._write(table, number, fence)
        except KafkaException as error:
            if time.monotonic() - began < TRANSACTION:
                raise
            where = f"topic {self._messages.topic}: batch {number}"
            raise TimeoutError(f"{where}: {TOO_LONG.format(limit=TRANSACTION)}: {error}") from error

    def _write(self, table: pa.Table, number: int, fence: Fence) -> int:
        producer = self._claimed()
        reach("before-temporary")
        producer.begin_transaction()
        self._sending = sends = TransactionSends(producer, self._messages.topic)
        for value, key, headers in self._messages.of(table):
            sends.send(value, key, headers)
        sends.await_all()
        reach("after-temporary")
        self._commit(number + 1, fence)
        reach("after-publish")
        return sends.bytes

    def close(self) -> None:
        """As of BatchSink. A transaction that is open is given up by whoever claims the sink next."""
        self._producer = None  # librdkafka's clients are closed when nobody has them any more
        self._progress.close()

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
