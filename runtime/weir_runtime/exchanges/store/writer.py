"""The writing side of an exchange on an object store."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pyarrow as pa

from weir_runtime.bodies import write_compressed
from weir_runtime.checkpoint import FORMAT
from weir_runtime.exchanges.ports import ExchangeWriter, Unread
from weir_runtime.exchanges.store.log import claimed_by
from weir_runtime.installation import OWNER, record
from weir_runtime.names import END, NUMBERING, PRODUCER, batch_name
from weir_runtime.publish import FLOW_REMEDY, Fence, OtherNumbering, described, newest
from weir_runtime.store import ObjectStore, StoreError
from weir_runtime.store_publish import StorePublisher

LOOK = 2.0
"""[s] between two looks at the readers' positions: each look is a request for every reader."""

MOST = 64
"""Batches deleted at one look: those of an earlier process are asked for their times one by one, and the same
thread renews the lease."""


class StoreWriter(ExchangeWriter):
    """Batches become objects under their numbers, by a put that fails where the name is taken.

    A batch's metadata are attributes of its object too, so that readers learn them without the rows.

    Args:
        store: the exchange.
        epoch: part of every batch's metadata.
        consumers, keep: as of `FolderWriter`.
        every: as `LOOK`.
    """

    def __init__(
        self,
        store: ObjectStore,
        epoch: int,
        consumers: tuple[str, ...] = (),
        keep: int = 0,
        every: float = LOOK,
    ) -> None:
        self.place = f"exchange {store.uri}"
        self._store = store
        self._soon = store.quick()
        self._publisher = self._sending = StorePublisher(store)
        self._epoch = epoch
        self._consumers = consumers
        self._keep = keep
        self._every = every
        self._look_at = 0.0  # [s, monotonic]
        self._oldest: int | None = None  # the first batch that is not deleted
        self._sizes: dict[int, int] | None = (
            None  # [bytes] of batches that are not read; None: not looked yet
        )
        self._unread = Unread()  # as last seen
        self._descriptions: dict[int, dict[str, str]] = {}  # of batches of this life that are not deleted

    def claimed(self) -> str | None:
        """By its object `numbering.json`."""
        return claimed_by(self._store)

    def put_claim(self, numbering: str) -> None:
        """Puts `numbering.json`."""
        self._store.put(NUMBERING, json.dumps({"format": FORMAT, "numbering": numbering}))

    def used(self) -> bool:
        """By its batches, its end and its readers' positions."""
        first = next(self._store.names(), "")  # numbers sort before all other names
        if first[:10].isdigit() or self.ended():
            return True
        return self._furthest() > 0

    def newest(self, planned: int) -> int:
        """By the first batch behind the planned ones and its readers' positions: what all have read may be
        deleted."""
        name = next(self._store.names(after=batch_name(planned, "arrow") if planned >= 0 else ""), "")
        return max(int(name[:10]) if name[:10].isdigit() else -1, self._furthest() - 1)

    def _furthest(self) -> int:
        """The position of the reader that has come furthest; 0: none has taken a batch."""
        positions = (self._store.read_json(name) or {} for name in self._store.names("consumers"))
        return max((int(position.get("next", 0)) for position in positions), default=0)

    def ended(self) -> bool:
        """By its object END."""
        return self._store.about(END) is not None

    def open(self) -> None:
        """Raises FragmentError for a store that would overwrite a batch."""
        self._soon.probe()

    def owner(self) -> str | None:
        """By its object `owner.json`."""
        return recorded_owner(self._store)

    def put_owner(self, installation: str) -> None:
        """Puts `owner.json`."""
        self._store.create(OWNER, json.dumps(record(installation)).encode())

    def put_description(self, description: dict[str, object]) -> None:
        """Puts `stream.json`."""
        self._store.put("stream.json", json.dumps(description, indent=1))

    def announce(self, where: Mapping[str, object]) -> None:
        """Puts `producer.json`."""
        self._store.put(PRODUCER, json.dumps(where))

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes written."""
        about = described(table, self._epoch, clock, self.numbering)
        rows = table.replace_schema_metadata(dict(about))
        name = batch_name(number, "arrow")
        size, is_new = self._publisher.put_once(name, lambda file: write_compressed(file, rows), about, fence)
        if not is_new:
            theirs = (self._store.about(name) or {}).get("numbering", "")
            if theirs != self.numbering:
                raise OtherNumbering(f"{self.place}/{name}", theirs, self.numbering, FLOW_REMEDY)
        if self._consumers:
            self._descriptions[number] = about
        if self._sizes is not None:
            self._sizes[number] = size
        return size

    def unread(self) -> Unread:
        """By one listing in the life of a writer. A store that does not answer is asked again."""
        try:
            if self._sizes is None and self._consumers:
                self._sizes = {
                    int(name[:10]): size for name, size in self._soon.sizes() if name[:10].isdigit()
                }
            self._unread = Unread.of(self._sizes or {}, {name: self._next(name) for name in self._consumers})
        except StoreError:
            pass
        return self._unread

    def _next(self, reader: str) -> int:
        position = self._soon.read_json(f"consumers/{reader}.json")
        return int(position["next"]) if position else 0

    def end(self, batches: int, fence: Fence) -> None:
        """Puts END."""
        fence()
        self._store.put(END, json.dumps({"batches": batches}))

    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs; how many batches. A
        store that does not answer is asked again."""
        if not self._consumers or time.monotonic() < self._look_at:
            return 0
        self._look_at = time.monotonic() + self._every
        try:
            return self._delete_consumed()
        except StoreError:
            return 0

    def _delete_consumed(self) -> int:
        positions = [self._soon.read_json(f"consumers/{name}.json") for name in self._consumers]
        if any(position is None for position in positions):
            return 0
        slowest = min(position["next"] for position in positions if position is not None)
        if self._oldest is None:
            first = next(self._soon.names(), "")  # numbers sort before all other names
            self._oldest = int(first[:10]) if first[:10].isdigit() else slowest
        number, beyond = self._oldest, min(slowest, self._oldest + MOST)
        if number >= beyond:
            return 0
        horizon = int(self._about(slowest - 1).get("clock", 0)) - self._keep
        while number < beyond and (self._keep == 0 or self._is_below(number, horizon)):
            number += 1
        numbers = range(self._oldest, number)
        self._soon.delete([batch_name(n, "arrow") for n in numbers])
        for n in numbers:
            self._descriptions.pop(n, None)
        self._oldest = number
        return len(numbers)

    def _is_below(self, number: int, horizon: int) -> bool:
        """Also one that is gone: of several deleted at once, any may be left."""
        about = self._about(number)
        return not about or newest(about) < horizon

    def _about(self, number: int) -> dict[str, str]:
        return self._descriptions.get(number) or self._soon.about(batch_name(number, "arrow")) or {}


def recorded_owner(store: ObjectStore) -> str | None:
    """The installation whose a flow is; None when nothing says so."""
    return (store.read_json(OWNER) or {}).get("installation")
