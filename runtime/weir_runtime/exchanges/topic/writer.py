"""The writing side of an exchange that is a Kafka topic."""

from __future__ import annotations

import json
import math
import time
import uuid
from collections import deque
from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from kafka import KafkaProducer
from kafka.errors import KafkaError

from weir_runtime.checkpoint import FORMAT
from weir_runtime.compiler import TIME
from weir_runtime.exchanges.ports import ExchangeWriter, Unread
from weir_runtime.exchanges.topic.log import BatchEnd, accept
from weir_runtime.exchanges.topic.pieces import write_pieces
from weir_runtime.exchanges.topic.topic import ABOUT, ENDS, PIECE, ROWS, Topic, admin_of
from weir_runtime.faults import reach
from weir_runtime.installation import record
from weir_runtime.kafka_clients import client_settings, never_creating
from weir_runtime.kafka_sends import CONFIRMED, Sends, close_at_once, send_settings
from weir_runtime.publish import Fence

LOOK = 30.0
"""[s] A broker of the producer's zone may come, or come back, later."""


class TopicWriter(ExchangeWriter):
    """Batches become pieces among the rows, and an end among the ends once the brokers have every piece.

    The lease is asked immediately before the end is sent. Pieces without an end are never read, and of two
    ends of a batch readers take the first: so a batch that is written again changes nothing.

    Args:
        topic: the exchange; made when it describes itself.
        epoch: rides in every message.
        zone: where the topic is led, if it can be.
        consumers, keep: as of `FolderWriter`.
    """

    def __init__(
        self, topic: Topic, epoch: int, zone: str = "", consumers: tuple[str, ...] = (), keep: int = 0
    ) -> None:
        self.place = f"topic {topic.name}"
        self._topic = topic
        self._epoch = epoch
        self._zone = zone
        self._consumers = consumers
        self._keep = keep
        self._client: KafkaProducer | None = None
        self._next: int | None = None  # batch; None: not looked yet
        self._present: deque[tuple[int, BatchEnd]] = deque()  # offset of each end that is not deleted
        self._unread = Unread()  # as last seen
        self._look_at = math.inf  # [s, monotonic] when to see where the topic is led

    def claimed(self) -> str | None:
        """By the last record that says so."""
        return self._topic.about().get("numbering")

    def put_claim(self, numbering: str) -> None:
        """Adds a record that says so."""
        self._send(ABOUT, json.dumps({"format": FORMAT, "numbering": numbering}))

    def used(self) -> bool:
        """By the ends that ever were."""
        return self._topic.beyond(ENDS) > 0

    def claim(self, numbering: str, fresh: bool) -> None:
        """Looks at what is published too: from now on nobody else adds to it."""
        super().claim(numbering, fresh)
        self._look()

    def newest(self, planned: int) -> int:
        """By the last end, which is never deleted."""
        return self._look() - 1

    def ended(self) -> bool:
        """Whether the stream has ended, in this life of its producer or one before."""
        return self._topic.exists() and self._published()[2]

    def open(self) -> None:
        """Makes it. Its producer is ready then, before the first batch."""
        self._topic.create(self._zone)
        self._producer()

    def owner(self) -> str | None:
        """By a record that says so."""
        return self._topic.owner()

    def put_owner(self, installation: str) -> None:
        """Adds a record that says so."""
        self._send(ABOUT, json.dumps({"owner": record(installation)}))

    def put_description(self, description: dict[str, object]) -> None:
        """Once: one that comes later says the same."""
        if self._topic.about().get("stream") != description:
            self._send(ABOUT, json.dumps({"stream": description}))

    def announce(self, where: Mapping[str, object]) -> None:
        """Adds where the producer answers; the topic comes after its producer (`delete_consumed`)."""
        self._send(ABOUT, json.dumps({"producer": dict(where)}))
        self._look_at = 0.0

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes written; 0 for a replay. Raises RuntimeError when batches before it are gone."""
        following = self._look()
        if number < following:
            fence()
            return 0
        if number > following:
            raise RuntimeError(
                f"topic {self._topic.name}: batch {number} is next, but the last one is {following - 1}: "
                "it was emptied or recreated"
            )
        copy = uuid.uuid4().hex
        reach("before-temporary")
        sent = self._send_pieces(table, copy, number)
        reach("after-temporary")
        newest = pc.max(table.column(TIME).cast(pa.int64())).as_py()
        end = BatchEnd(
            self._epoch,
            number,
            copy,
            sent.first,
            sent.last,
            sent.count,
            table.num_rows,
            clock,
            max(clock, newest or 0),
            self.numbering,
            table.nbytes,
        )
        reach("before-publish")
        fence()
        offset = self._send(ENDS, end.to_json())
        reach("after-publish")
        self._present.append((offset, end))
        self._next = number + 1
        return sent.bytes

    def end(self, batches: int, fence: Fence) -> None:
        """No batch from `batches` on will ever come."""
        fence()
        self._send(ENDS, json.dumps({"epoch": self._epoch, "batches": batches}))

    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs, but never the last
        end: it says which batch comes next. How many batches. Brokers that do not answer are asked again."""
        try:
            if time.monotonic() >= self._look_at and self._topic.lead_in(self._zone):
                self._look_at = time.monotonic() + LOOK
            return self._delete_consumed() if self._consumers else 0
        except KafkaError:
            return 0

    def unread(self) -> Unread:
        """Brokers that do not answer are asked again."""
        try:
            if self._consumers:
                present = list(self._present)
                sizes = {offset: end.bytes or end.pieces * PIECE for offset, end in present}
                self._unread = Unread.of(sizes, self._positions())
        except KafkaError:
            pass
        return self._unread

    def close(self) -> None:
        """As of BatchSink. What brokers do not have yet is written again by whoever follows."""
        if self._client is not None:
            close_at_once(self._client)
            self._client = None

    def _positions(self) -> dict[str, int]:
        """By reader, its place among the ends; -1: none yet."""
        ends = self._topic.partition(ENDS)
        groups = {self._topic.group(name): name for name in self._consumers}
        offsets = admin_of(self._topic.options, quick=True).list_group_offsets({g: [ends] for g in groups})
        return {
            name: offsets[group][ends].offset if ends in offsets.get(group, {}) else -1
            for group, name in groups.items()
        }

    def _delete_consumed(self) -> int:
        admin, ends = admin_of(self._topic.options, quick=True), self._topic.partition(ENDS)
        positions = self._positions().values()
        consumed = [end for offset, end in list(self._present) if offset < min(positions)]
        if not consumed:
            return 0
        horizon = consumed[-1].clock - self._keep
        deleted = rows = 0
        while len(self._present) > 1 and deleted < len(consumed):
            end = self._present[0][1]
            if self._keep and end.newest >= horizon:
                break
            rows = max(rows, end.last + 1)
            self._present.popleft()
            deleted += 1
        if deleted:
            below = {ends: self._present[0][0]} | ({self._topic.partition(ROWS): rows} if rows else {})
            admin.delete_records(below)
        return deleted

    def _look(self) -> int:
        """The next batch's number. Not before the lease is held: until then another process may write."""
        if self._next is None:
            self._next, self._present, _ = self._published()
        return self._next

    def _published(self) -> tuple[int, deque[tuple[int, BatchEnd]], bool]:
        """The next batch's number, the ends in the topic with their offsets, whether the stream is over."""
        records = list(self._topic.records(ENDS, 0, self._topic.beyond(ENDS)))
        values = [(record.offset, json.loads(record.value)) for record in records]
        place, ends, ended = accept({"next": None, "offset": 0, "epoch": 0}, values)
        offsets = {item["copy"]: offset for offset, item in values if "copy" in item}
        return place["next"] or 0, deque((offsets[end.copy], end) for end in ends), ended

    def _send_pieces(self, table: pa.Table, copy: str, number: int) -> Sends:
        """Returns when the brokers have all of them."""
        headers = [("epoch", str(self._epoch).encode()), ("batch", str(number).encode())]
        self._sending = sends = Sends(self._producer(), self._topic.name)

        def send(piece: bytes) -> None:
            sends.send(piece, f"{copy} {sends.count}".encode(), headers, ROWS)

        write_pieces(table, send)
        sends.await_all()
        return sends

    def _send(self, partition: int, text: str) -> int:
        future = self._producer().send(self._topic.name, text.encode(), partition=partition)
        return int(future.get(timeout=CONFIRMED).offset)

    def _producer(self) -> KafkaProducer:
        if self._client is None:
            settings = {**client_settings(self._topic.options), **send_settings()}
            network = partial(never_creating, KafkaProducer.DEFAULT_CONFIG["kafka_client"])
            self._client = KafkaProducer(**settings, kafka_client=network)
        return self._client
