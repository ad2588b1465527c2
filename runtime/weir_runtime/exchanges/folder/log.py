"""The reading side of an exchange: another fragment's published batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from weir_runtime.exchanges.ports import follow
from weir_runtime.logs.batches import size_of, waiting
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room
from weir_runtime.names import END, NUMBERING, batch_name, read_json, write_whole


class FolderLog(Log):
    """`place` is {"next": number of the next batch, "of": the numbering of those before}: never a listing,
    never a modification time.

    Args:
        folder: the exchange.
        schema: of its batches.
        consumer: the reading fragment, whose position is made known for deletion.
        start: first batch to read.
    """

    def __init__(self, folder: str, schema: pa.Schema, consumer: str, start: int = 0) -> None:
        self._folder = Path(folder)
        self._consumer = consumer
        self._start = start
        self.schema = schema

    def start(self) -> Place:
        """The first batch to read."""
        return {"next": self._start}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """The clock is the last batch's, from its file's metadata."""
        number, last = place["next"], dict[str, str]()
        while number < place["next"] + most and (size := size_of(self._path(number))) is not None:
            metadata = batch_metadata(self._path(number))
            if (left := room.after(size, int(metadata.get("rows", 0)))) is None:
                break
            room, last = left, metadata
            number += 1
        numbering = claimed_by(self._folder) or ""
        if last:
            clock, numbering = int(last["clock"]), last.get("numbering", "")
        if number > place["next"] or place["next"] > self._start:
            place = follow(place, self._start, number, numbering, f"exchange {self._folder}")
        end = read_json(self._folder / END)
        return Advance(place, clock, end is not None and end["batches"] <= number)

    def backlog(self, place: Place) -> int:
        """Batches that wait."""
        return waiting(self._folder, "arrow", place["next"])

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows of the batches, straight from the mapped files."""
        for number in range(start["next"], end["next"]):
            with pa.memory_map(str(self._path(number))) as file:
                reader = pa.ipc.open_file(file)
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i).select(self.schema.names)

    def committed(self, place: Place) -> None:
        """Publishes the position."""
        write_whole(self._folder / "consumers" / f"{self._consumer}.json", json.dumps(place))

    def _path(self, number: int) -> Path:
        return self._folder / batch_name(number, "arrow")


def claimed_by(folder: Path) -> str | None:
    """The numbering that has claimed an exchange; None: none has, or one of format 0."""
    claim = read_json(folder / NUMBERING)
    return None if claim is None else str(claim["numbering"])


def batch_metadata(path: Path) -> dict[str, str]:
    """`epoch`, `rows`, `clock`, `min`, `max`, `numbering` of a published batch."""
    with pa.memory_map(str(path)) as file:
        metadata = pa.ipc.open_file(file).schema.metadata or {}
    return {key.decode(): value.decode() for key, value in metadata.items()}
