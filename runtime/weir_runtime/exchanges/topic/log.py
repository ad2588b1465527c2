"""The reading side of an exchange that is a Kafka topic."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.ipc
from kafka import OffsetAndMetadata
from kafka.errors import KafkaError

from weir_runtime.exchanges.ports import follow
from weir_runtime.exchanges.topic.pieces import PieceReader
from weir_runtime.exchanges.topic.topic import ENDS, PIECE, ROWS, Topic, admin_of, position_note
from weir_runtime.installation import current
from weir_runtime.logs.log import ENDLESS, ROOM, Advance, Log, Place, Room


@dataclass(frozen=True)
class BatchEnd:
    """What follows the rows of a batch, in a partition of its own: only what has one was published.

    Attributes:
        copy: names this writing of the batch; all of its pieces carry it.
        first, last: offsets of its pieces among the rows; -1 without rows.
        pieces: how many there are.
        newest: [us] the latest event time of the batch: of its rows, or its clock.
        numbering: which one the batch is of; "" in format 0.
        bytes: of the rows in memory; 0: not known.
    """

    epoch: int
    batch: int
    copy: str
    first: int
    last: int
    pieces: int
    rows: int
    clock: int
    newest: int
    numbering: str = ""
    bytes: int = 0

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> BatchEnd:
        """Of a record's value, which may have been written by a later version."""
        names = {field.name for field in dataclasses.fields(BatchEnd)}
        return BatchEnd(**{name: value for name, value in record.items() if name in names})

    def to_json(self) -> str:
        """The record's value. Format 0 has neither numbering nor bytes: its readers take no other field."""
        fields = dataclasses.asdict(self)
        later = () if self.numbering else ("numbering", "bytes")
        return json.dumps({name: value for name, value in fields.items() if name not in later})


def accept(
    place: Place,
    records: Iterable[tuple[int, Mapping[str, Any]]],
    most: float = inf,
    room: Room = ENDLESS,
) -> tuple[Place, list[BatchEnd], bool]:
    """Which of the ends behind `place` count, at most `most` that have `room`: of each batch the first one
    whose epoch is not below one seen before. The place behind them, the ends, and whether the stream ends
    there.

    A pure function of its arguments, so every reader, and a reader that comes again between two places, takes
    the same copies. `next` None: whichever batch comes first. Raises ValueError where batches are missing.
    """
    following, offset, epoch = place["next"], place["offset"], place["epoch"]
    accepted: list[BatchEnd] = []
    for at, record in records:
        if len(accepted) >= most:
            break
        counts = record["epoch"] >= epoch and "batch" in record and following in (None, record["batch"])
        left = room.after(bytes_of(record), record["rows"]) if counts else room
        if left is None:
            break
        offset = at + 1
        if record["epoch"] < epoch:
            continue  # of a process that did not know that it was over
        epoch = record["epoch"]
        if "batches" in record:
            return {"next": following, "offset": offset, "epoch": epoch}, accepted, True
        end = BatchEnd.from_record(record)
        following = end.batch if following is None else following
        if end.batch > following:
            raise ValueError(f"batches {following} to {end.batch - 1} are gone")
        if end.batch == following:
            accepted.append(end)
            room = left
            following += 1
    return {"next": following, "offset": offset, "epoch": epoch}, accepted, False


def bytes_of(record: Mapping[str, Any]) -> int:
    """Of a batch's rows in memory, as its end says; of an older one, at most of its pieces."""
    return int(record.get("bytes") or record["pieces"] * PIECE)


class TopicLog(Log):
    """`place` is {"next": number of the next batch, "offset": of the next record among the ends, "epoch": the
    highest before it, "of": the numbering of the batches before}.

    Args:
        topic: the exchange.
        schema: of its batches.
        consumer: the reading fragment, whose position is made known for deletion.
        start: first batch to read.
    """

    def __init__(self, topic: Topic, schema: pa.Schema, consumer: str, start: int = 0) -> None:
        self._topic = topic
        self._consumer = consumer
        self._start = start
        self.schema = schema

    def start(self) -> Place:
        """The first batch to read."""
        return {"next": self._start, "offset": 0, "epoch": 0}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """The clock is the last batch's. Brokers that do not answer are nothing new."""
        try:
            beyond = self._topic.beyond(ENDS)
            if beyond < place["offset"]:
                raise ValueError(f"topic {self._topic.name}: emptied or recreated since it was read")
            following, ends, ended = self._accepted(place, beyond, most, room)
        except (KafkaError, TimeoutError):
            return Advance(place, clock, False)
        if not ends and not ended:
            return Advance(place, clock, False)
        if ends:
            where, number = f"topic {self._topic.name}", following["next"]
            numbered = follow(place, self._start, number, ends[-1].numbering, where)
            following = {**numbered, **following}
        elif "of" in place:
            following = {**following, "of": place["of"]}
        return Advance(following, ends[-1].clock if ends else clock, ended)

    def backlog(self, place: Place) -> int:
        """Batches that wait."""
        try:
            return max(0, self._topic.beyond(ENDS) - int(place["offset"]))
        except KafkaError:
            return 0

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows of the batches, as their pieces come. Raises ValueError when pieces of one are missing."""
        _, ends, _ = self._accepted(start, end["offset"])
        for item in ends:
            if item.pieces:
                yield from self._rows(item)

    def committed(self, place: Place) -> None:
        """The position becomes that of a consumer group. Advice to the producer alone: the checkpoint has the
        truth, so brokers that do not answer get the next position."""
        at = OffsetAndMetadata(place["offset"], position_note(place["next"], current()), -1)
        group = self._topic.group(self._consumer)
        try:
            admin = admin_of(self._topic.options, quick=True)
            admin.alter_group_offsets(group, {self._topic.partition(ENDS): at})
        except KafkaError:
            return

    def _accepted(
        self, place: Place, beyond: int, most: float = inf, room: Room = ENDLESS
    ) -> tuple[Place, list[BatchEnd], bool]:
        records = self._topic.records(ENDS, place["offset"], beyond)
        try:
            return accept(
                place, ((record.offset, json.loads(record.value)) for record in records), most, room
            )
        except ValueError as error:
            raise ValueError(f"topic {self._topic.name}: {error}") from error

    def _rows(self, end: BatchEnd) -> Iterator[pa.RecordBatch]:
        count = 0
        with pa.ipc.open_stream(pa.PythonFile(PieceReader(self._pieces(end)), "r")) as reader:
            for batch in reader:
                count += batch.num_rows
                yield batch.select(self.schema.names)
        if count != end.rows:
            raise ValueError(f"topic {self._topic.name}: batch {end.batch} has {count} of {end.rows} rows")

    def _pieces(self, end: BatchEnd) -> Iterator[bytes]:
        """Of one copy, in their order. A producer has one of a partition on its way at a time, but one that
        does not number its messages for the brokers may have had several, and one that was sent again then
        comes late or twice: so what comes early is held, as much as producers have on their way."""
        early: dict[int, bytes] = {}
        following = 0
        for record in self._topic.records(ROWS, end.first, end.last + 1):
            copy, _, sequence = record.key.decode().partition(" ")
            if copy != end.copy or int(sequence) < following:
                continue  # never ended, or not the copy that counts; or it has come before
            early[int(sequence)] = record.value
            while following in early:
                yield early.pop(following)
                following += 1
        if following < end.pieces:
            raise ValueError(f"topic {self._topic.name}: rows of batch {end.batch} are gone")
