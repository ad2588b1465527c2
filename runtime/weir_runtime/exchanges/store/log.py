"""The reading side of an exchange on an object store."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.ipc

from weir_runtime.exchanges.ports import follow
from weir_runtime.logs.batches import dense
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room
from weir_runtime.names import END, NUMBERING, SIZE, batch_name
from weir_runtime.store import ObjectStore, Patience, StoreError

TELL = 1.0
"""[s] between two puts of a reader's position."""

CLAIM = 10.0
"""[s] between two looks at who has claimed a flow in which nothing is new."""

AHEAD = 4
"""Batches that are fetched at the same time: a store answers many at once, and each after a while. A heap has
a part of each; `Room` bounds what of them is on disk."""

LOOKS = 16
"""Batches that are asked for their sizes at the same time."""

SOME = 1000
"""Batches that a backlog is counted up to."""


class StoreLog(Log):
    """`place` is {"next": number of the next batch, "of": the numbering of those before}: never a listing.

    Args:
        store: the exchange.
        schema: of its batches.
        consumer: the reading fragment, whose position is made known for deletion.
        start: first batch to read.
        every: as `TELL`.
    """

    def __init__(
        self, store: ObjectStore, schema: pa.Schema, consumer: str, start: int = 0, every: float = TELL
    ) -> None:
        self._store = store
        self._consumer = consumer
        self._start = start
        self._every = every
        self._tell_at = 0.0  # [s, monotonic]
        self._claim_at = 0.0  # [s, monotonic]
        self._patience = Patience()
        self.schema = schema

    def start(self) -> Place:
        """The first batch to read."""
        return {"next": self._start}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """The clock is the last batch's. A store that does not answer is nothing new, for a while."""
        store = self._store.quick()
        with self._patience.waiting():
            batches = self._waiting(place["next"], most, room)
            if batches:
                last = batches[-1]
                return Advance(
                    self._follow(place, len(batches), last.get("numbering", "")), int(last["clock"]), False
                )
            end = store.read_json(END)  # asked for only when nothing is new
            if place["next"] > self._start and time.monotonic() >= self._claim_at:
                self._claim_at = time.monotonic() + CLAIM
                self._follow(place, 0, claimed_by(store) or "")
            return Advance(place, clock, end is not None and end["batches"] <= place["next"])
        return Advance(place, clock, False)

    def _waiting(self, first: int, most: int, room: Room) -> list[dict[str, str]]:
        """The descriptions of the batches from `first` on: at most `most` that have `room`. Raises
        StoreError."""
        store, batches = self._store.quick(), dict[int, dict[str, str]]()

        def there(i: int) -> bool:
            about = store.about(batch_name(first + i, "arrow"))
            if about is not None:
                batches[i] = about
            return about is not None

        count = dense(there, most)
        if len(batches) < count:
            with ThreadPoolExecutor(LOOKS) as pool:
                list(pool.map(there, (i for i in range(count) if i not in batches)))
        fitting: list[dict[str, str]] = []
        for about in (batches[i] for i in range(count)):
            if (left := room.after(bytes_of(about), int(about.get("rows", 0)))) is None:
                break
            room = left
            fitting.append(about)
        return fitting

    def _follow(self, place: Place, count: int, numbering: str) -> Place:
        where = f"exchange {self._store.uri}"
        return follow(place, self._start, place["next"] + count, numbering, where)

    def backlog(self, place: Place) -> int:
        """Batches that wait."""
        store = self._store.quick()
        try:
            return dense(lambda i: store.about(batch_name(place["next"] + i, "arrow")) is not None, SOME)
        except StoreError:
            return 0

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Rows of the batches. Raises ValueError when one is gone."""
        numbers = range(start["next"], end["next"])
        with ThreadPoolExecutor(AHEAD) as pool:
            for at in range(0, len(numbers), AHEAD):
                some = numbers[at : at + AHEAD]
                bodies = pool.map(self._store.read, (batch_name(n, "arrow") for n in some))
                for number, body in zip(some, bodies, strict=True):
                    if body is None:
                        raise ValueError(f"{self._store.uri}: batch {number} is gone")
                    reader = pa.ipc.open_file(pa.py_buffer(body))
                    for i in range(reader.num_record_batches):
                        yield reader.get_batch(i).select(self.schema.names)

    def committed(self, place: Place) -> None:
        """Puts the position, now and then. Advice to the producer alone: the checkpoint has the truth, so a
        store that does not answer gets the next position."""
        if time.monotonic() < self._tell_at:
            return
        try:
            self._store.quick().put(f"consumers/{self._consumer}.json", json.dumps(place))
            self._tell_at = time.monotonic() + self._every
        except StoreError:
            return


def bytes_of(about: Mapping[str, str]) -> int:
    """Of a batch's rows in memory, as it says itself; else the size of the object."""
    return int(about.get("bytes") or about[SIZE])


def claimed_by(store: ObjectStore) -> str | None:
    """The numbering that has claimed an exchange; None: none has, or one of format 0."""
    claim = store.read_json(NUMBERING)
    return None if claim is None else str(claim["numbering"])
