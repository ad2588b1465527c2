"""The writing side of an exchange in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from weir_runtime.checkpoint import FORMAT
from weir_runtime.durable import drop_unfinished
from weir_runtime.exchanges.folder.log import batch_metadata, claimed_by
from weir_runtime.exchanges.ports import ExchangeWriter, Unread
from weir_runtime.installation import OWNER, owner_of, record
from weir_runtime.logs.batches import size_of, write_table
from weir_runtime.names import END, NUMBERING, PRODUCER, batch_name, read_json, write_whole
from weir_runtime.publish import FLOW_REMEDY, Fence, OtherNumbering, described, newest, put_once


class FolderWriter(ExchangeWriter):
    """An exchange of files.

    Args:
        folder: the exchange.
        epoch: rides in every file.
        consumers: fragments whose positions hold batches back from deletion; empty: nothing is deleted.
        keep: event time [us] kept below the slowest consumer.
    """

    def __init__(self, folder: str, epoch: int, consumers: tuple[str, ...] = (), keep: int = 0) -> None:
        self._folder = Path(folder)
        self._epoch = epoch
        self._consumers = consumers
        self._keep = keep
        self._oldest: int | None = None  # the first batch that is not deleted
        self._sizes: dict[int, int] | None = (
            None  # [bytes] of batches that are not read; None: not looked yet
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        self.place = f"exchange {folder}"

    def claimed(self) -> str | None:
        """By its file `numbering.json`."""
        return claimed_by(self._folder)

    def put_claim(self, numbering: str) -> None:
        """Writes `numbering.json`."""
        write_whole(self._folder / NUMBERING, json.dumps({"format": FORMAT, "numbering": numbering}))

    def drop_unfinished(self) -> None:
        """Of batches; a standby may be writing other files."""
        drop_unfinished(self._folder, "[0-9]*.arrow")

    def used(self) -> bool:
        """By its batches, its end and its readers' positions."""
        if self.ended() or any(self._folder.glob("[0-9]*.arrow")):
            return True
        return self._furthest() > 0

    def newest(self, planned: int) -> int:
        """By its batches and its readers' positions: what all have read may be deleted."""
        batches = (int(path.stem) for path in self._folder.glob("[0-9]*.arrow"))
        return max(*batches, self._furthest() - 1, -1)

    def _furthest(self) -> int:
        """The position of the reader that has come furthest; 0: none has taken a batch."""
        positions = (read_json(file) or {} for file in self._folder.glob("consumers/*.json"))
        return max((int(position.get("next", 0)) for position in positions), default=0)

    def ended(self) -> bool:
        """By its file END."""
        return (self._folder / END).exists()

    def open(self) -> None:
        """Its folder exists already."""

    def owner(self) -> str | None:
        """By its file `owner.json`."""
        return owner_of(self._folder)

    def put_owner(self, installation: str) -> None:
        """Writes `owner.json`."""
        write_whole(self._folder / OWNER, json.dumps(record(installation)))

    def put_description(self, description: dict[str, object]) -> None:
        """Writes `stream.json`."""
        write_whole(self._folder / "stream.json", json.dumps(description, indent=1))

    def announce(self, where: Mapping[str, object]) -> None:
        """Writes `producer.json`."""
        write_whole(self._folder / PRODUCER, json.dumps(where))

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes written."""
        schema = table.schema.with_metadata(described(table, self._epoch, clock, self.numbering))
        final = self._batch(number)
        size, is_new = put_once(final, lambda path: write_table(path, table.cast(schema)), fence)
        if not is_new:
            theirs = batch_metadata(final).get("numbering", "")
            if theirs != self.numbering:
                raise OtherNumbering(str(final), theirs, self.numbering, FLOW_REMEDY)
        if self._sizes is not None:
            self._sizes[number] = size
        return size

    def unread(self) -> Unread:
        """By one listing of the files in the life of a writer."""
        if self._sizes is None:
            self._sizes = {int(path.stem): size_of(path) or 0 for path in self._folder.glob("[0-9]*.arrow")}
        positions = {name: int((self._position(name) or {}).get("next", 0)) for name in self._consumers}
        return Unread.of(self._sizes, positions)

    def end(self, batches: int, fence: Fence) -> None:
        """Writes END."""
        fence()
        write_whole(self._folder / END, json.dumps({"batches": batches}))

    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs; how many batches."""
        positions = [self._position(name) for name in self._consumers]
        if not positions or any(position is None for position in positions):
            return 0
        slowest = min(position["next"] for position in positions if position is not None)
        if self._oldest is None:
            numbers = (int(path.stem) for path in self._folder.glob("[0-9]*.arrow"))
            self._oldest = min(numbers, default=slowest)  # of an earlier life none may be left
        first = self._oldest
        if first >= slowest:
            return 0
        horizon = int(batch_metadata(self._batch(slowest - 1))["clock"]) - self._keep if self._keep else 0
        while self._oldest < slowest:
            path = self._batch(self._oldest)
            if self._keep and newest(batch_metadata(path)) >= horizon:
                break
            path.unlink(missing_ok=True)
            self._oldest += 1
        return self._oldest - first

    def _position(self, reader: str) -> dict[str, Any] | None:
        return read_json(self._folder / "consumers" / f"{reader}.json")

    def _batch(self, number: int) -> Path:
        return self._folder / batch_name(number, "arrow")
