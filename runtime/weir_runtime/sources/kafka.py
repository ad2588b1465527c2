"""A source in Kafka: JSON messages, read again by partition and offset."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError
from numpy.typing import NDArray
from weir_placement.model.fragment import FragmentError, Input

from weir_runtime.kafka_clients import FETCH_WAIT_MS, METADATA_MS, aim, client_settings
from weir_runtime.logs.ahead import Ahead
from weir_runtime.logs.batches import batch_rows, write_batch
from weir_runtime.logs.lateness import check_times, clock_after, on_time
from weir_runtime.logs.log import Advance, Log, Place, row_ids

OFFSET_BITS = 48
"""A row id is the partition and the offset."""

BATCH_ROWS = 5_000
"""Messages of a partition in what counts as one batch."""

BATCH_BYTES = 32 * 2**20
"""[bytes] of messages in one batch, over all partitions, and one message more of each: a process holds them
several times over, and a backlog of wide rows would end it, at every start again."""

BATCH_SECONDS = 10.0
"""[s] for which one batch's messages are fetched, over all partitions: what a thin link has not brought by
then is for the next one. Rows before it need not wait for the whole backlog, nor does a move or a stop."""

PATIENCE = 60.0
"""[s] A topic that is not there yet, or that gives nothing more, is waited for this long."""

OFFSET = "_offset"
"""Column of what `advance` leaves for `read`."""

Rows = tuple[pa.Table, NDArray[np.uint64]]
"""Of one partition, and their offsets."""

_consumers: dict[str, KafkaConsumer] = {}
"""Of this process, by brokers and log-in. Its logs are used by one thread."""


def open_log(
    item: Input, options: Mapping[str, Any], schema: pa.Schema, sidelog: str, ahead: Path | None
) -> Log:
    """Of `source.kafka`. Raises FragmentError."""
    return KafkaLog(dict(options), schema, item.event_time, item.delay, sidelog, ahead)


class KafkaLog(Log):
    """`place` is {"next": {partition: offset}, "max": {partition: running maximum [us] or null}}.

    Lateness is decided in each partition by itself; the clock is the slowest partition's, so a
    partition that has no rows holds it. Partitions that are added later are not read.

    Args:
        options: bootstrapServers, topic, and optionally format (json), startingOffsets, security.
        schema: the stream's columns, the keys of the JSON objects; times as ISO 8601 in UTC.
        event_time: one of them, of type timestamp.
        delay: watermark delay [us].
        sidelog: folder for late rows; "" for none.
        ahead: folder for the rows whose times `advance` has read, if this machine also reads them.
    """

    def __init__(
        self,
        options: dict[str, Any],
        schema: pa.Schema,
        event_time: str,
        delay: int,
        sidelog: str,
        ahead: Path | None = None,
    ) -> None:
        if "topic" not in options:
            raise FragmentError("source.kafka.topic: missing; give the topic to read")
        if options.get("format", "json") != "json":
            raise FragmentError(f"source.kafka.format: {options['format']!r}; only json is read")
        self._options = options
        self._topic: str = options["topic"]
        self._rows = schema
        self._event_time = event_time
        self._delay = delay
        self._sidelog = sidelog
        self._ahead = Ahead(ahead)
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """The oldest or the newest offsets. Raises TimeoutError when there is no such topic."""
        deadline = time.monotonic() + PATIENCE
        while not (numbers := self._consumer().partitions_for_topic(self._topic)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no topic {self._topic} on {self._options['bootstrapServers']}")
            time.sleep(0.5)
        partitions = [TopicPartition(self._topic, number) for number in sorted(numbers)]
        newest = self._options.get("startingOffsets", "earliest") == "latest"
        ask = self._consumer().end_offsets if newest else self._consumer().beginning_offsets
        offsets = ask(partitions)
        return {
            "next": {str(p.partition): offsets[p] for p in partitions},
            "max": {str(p.partition): None for p in partitions},
        }

    def advance(self, place: Place, clock: int, most: int, room: int = BATCH_BYTES) -> Advance:
        """Reads the event times of new messages. A broker that does not answer is nothing new."""
        try:
            ends = self._ends(place)
            if ends != place["next"]:
                self._ahead.begin()
            looks = {
                key: self._look(place, key, min(ends[key], at + most * BATCH_ROWS), len(ends), room)
                for key, at in place["next"].items()
            }
        except KafkaError:
            return Advance(place, clock, False)
        following = {key: reached for key, (reached, _) in looks.items()}
        maxima = {key: maximum for key, (_, maximum) in looks.items()}
        now = min(clock_after(maximum, self._delay) for maximum in maxima.values())
        return Advance({"next": following, "max": maxima}, max(clock, now), False)

    def backlog(self, place: Place) -> int:
        """Batches that wait."""
        try:
            ends = self._ends(place)
        except KafkaError:
            return 0
        return sum(-(-max(0, ends[key] - at) // BATCH_ROWS) for key, at in place["next"].items())

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows on time; the others go to the side log, under their partition and the range's first offset."""
        for key, beyond in end["next"].items():
            first = start["next"][key]
            if first == beyond:
                continue
            table, offsets = self._from_ahead(key, first, beyond) or self._fetched(key, first, beyond)[0]
            times = self._times(table, key, offsets)
            keep = on_time(times, start["max"][key], self._delay)
            table = table.append_column("_id", row_ids(int(key), offsets, OFFSET_BITS))
            if not keep.all() and self._sidelog:
                late = table.filter(pa.array(~keep))
                write_batch(Path(self._sidelog) / f"{int(key):05d}-{first:015d}.arrow", late)
            yield from table.filter(pa.array(keep)).to_batches()

    def late(self, start: Place | None, end: Place) -> int:
        """From the side log."""
        total = 0
        for path in Path(self._sidelog).glob("*.arrow") if self._sidelog else ():
            key, first = str(int(path.stem[:5])), int(path.stem[6:])
            since = start["next"].get(key, 0) if start else 0
            if since <= first < end["next"].get(key, 0):
                total += batch_rows(path)
        return total

    def _consumer(self) -> KafkaConsumer:
        """One for all logs of this process at the same brokers: a batch's reader is a log unpickled anew."""
        key = json.dumps([self._options.get("bootstrapServers"), self._options.get("security")])
        if key not in _consumers:
            _consumers[key] = KafkaConsumer(
                **client_settings(self._options),
                enable_auto_commit=False,
                isolation_level="read_committed",
                fetch_max_wait_ms=FETCH_WAIT_MS,
                metadata_max_age_ms=METADATA_MS,
            )
        return _consumers[key]

    def _ends(self, place: Place) -> dict[str, int]:
        partitions = {key: TopicPartition(self._topic, int(key)) for key in place["next"]}
        ends = self._consumer().end_offsets(list(partitions.values()))
        return {key: max(place["next"][key], ends[partition]) for key, partition in partitions.items()}

    def _messages(
        self, key: str, first: int, beyond: int, room: float = inf, seconds: float = inf
    ) -> tuple[list[bytes], list[int], int]:
        """Values and offsets in [first, beyond), and how far they go: not all the way when they have taken
        `room` bytes or `seconds`. Gaps (of transactions) and empty messages are left out. Raises TimeoutError
        when nothing comes any more."""
        consumer, partition = self._consumer(), TopicPartition(self._topic, int(key))
        aim(consumer, partition, first)
        values, offsets = [], []
        begin = last = time.monotonic()
        while consumer.position(partition) < beyond:
            for record in consumer.poll(timeout_ms=1000).get(partition, []):
                last = time.monotonic()
                if record.offset < beyond and record.value is not None:
                    values.append(record.value)
                    offsets.append(record.offset)
                    room -= len(record.value)
                    if room <= 0:
                        return values, offsets, record.offset + 1
            if offsets and offsets[-1] == beyond - 1:
                break
            if offsets and last > begin + seconds:
                return values, offsets, offsets[-1] + 1
            if time.monotonic() > last + PATIENCE:
                at = consumer.position(partition)
                raise TimeoutError(f"topic {self._topic}, partition {key}: nothing more from {at} on")
        if first < beyond and not offsets:
            raise ValueError(
                f"topic {self._topic}, partition {key}: nothing is left from offset {first} to {beyond}"
            )
        return values, offsets, beyond

    def _fetched(
        self, key: str, first: int, beyond: int, room: float = inf, seconds: float = inf
    ) -> tuple[Rows, int]:
        """As `_messages`, as rows."""
        values, offsets, reached = self._messages(key, first, beyond, room, seconds)
        table = parse(values, self._rows, f"topic {self._topic}, partition {key}")
        return (table, np.array(offsets, np.uint64)), reached

    def _from_ahead(self, key: str, first: int, beyond: int) -> Rows | None:
        """What `advance` has left of exactly this range."""
        table = self._ahead.get(_range_name(key, first, beyond))
        if table is None:
            return None
        return table.drop_columns([OFFSET]), table.column(OFFSET).to_numpy()

    def _times(self, table: pa.Table, key: str, offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
        where = f"topic {self._topic}, partition {key}, offsets from {offsets[0]}"
        column = table.column(self._event_time)
        if column.null_count:
            raise ValueError(f"{where}: {column.null_count} rows without {self._event_time}")
        times: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
        check_times(times, where)
        return times

    def _look(
        self, place: Place, key: str, beyond: int, partitions: int, room: int
    ) -> tuple[int, int | None]:
        """How far one of the partitions is read, and the running maximum behind that."""
        first, before = place["next"][key], place["max"][key]
        if first == beyond:
            return first, before
        room, seconds = min(room, BATCH_BYTES) // partitions, BATCH_SECONDS / partitions
        (table, offsets), reached = self._fetched(key, first, beyond, room, seconds)
        rows = table.append_column(OFFSET, pa.array(offsets))
        self._ahead.put(_range_name(key, first, reached), rows)
        newest = int(self._times(table, key, offsets).max())
        return reached, newest if before is None else max(before, newest)


def _range_name(key: str, first: int, beyond: int) -> str:
    return f"{int(key):05d}-{first:015d}-{beyond:015d}.arrow"


def parse(values: list[bytes], schema: pa.Schema, where: str) -> pa.Table:
    """JSON objects as a table; keys that are not there are null, others are left out. Raises ValueError."""
    as_text = pa.schema(
        [pa.field(f.name, pa.string() if pa.types.is_timestamp(f.type) else f.type) for f in schema]
    )
    options = pyarrow.json.ParseOptions(explicit_schema=as_text, unexpected_field_behavior="ignore")
    lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
    block = pyarrow.json.ReadOptions(use_threads=False, block_size=max(1 << 20, len(lines) + 1))
    try:
        table = pyarrow.json.read_json(pa.BufferReader(lines), read_options=block, parse_options=options)
        if table.num_rows != len(values):
            raise ValueError(f"{len(values)} messages hold {table.num_rows} JSON objects")
        columns = [_typed(table.column(field.name), field.type) for field in schema]
    except (pa.ArrowInvalid, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
    return pa.Table.from_arrays(columns, schema=schema)


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Times out of text: UTC, whether it says so (Z, +00:00) or names no zone."""
    if not pa.types.is_timestamp(kind):
        return column
    text = pc.replace_substring_regex(column, r"(Z|\+00:?00)$", "")
    return text.cast(pa.timestamp("us")).cast(kind)
