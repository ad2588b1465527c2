"""What every exchange offers: to its readers, to its producer, and to who clears up."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.location import Flows, Location

from weir_runtime import installation
from weir_runtime.installation import Swept
from weir_runtime.logs.log import Log, Place
from weir_runtime.publish import FLOW_REMEDY, BatchSink, Fence, OtherNumbering


class ExchangeReader(Protocol):
    """The reading side."""

    def description(self) -> Mapping[str, Any] | None:
        """What the producer's plan is (docs/runtime.md); None as long as it has not described it."""

    def producer(self) -> Mapping[str, Any] | None:
        """`host` and `port` at which the producer that writes answers; None when it has announced none."""

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The batches from `start` on."""


@dataclass(frozen=True)
class Unread:
    """What of a flow one of its readers, `reader`, the slowest one, has not committed. [bytes]"""

    bytes: int = 0
    reader: str = ""

    @staticmethod
    def of(sizes: dict[int, int], positions: Mapping[str, int]) -> Unread:
        """Of batches' sizes by their numbers, from which those that all have committed are dropped, and of
        each reader's next batch."""
        if not positions:
            return Unread()
        reader = min(positions, key=lambda name: positions[name])
        for number in [number for number in list(sizes) if number < positions[reader]]:
            del sizes[number]
        return Unread(sum(list(sizes.values())), reader)


class ExchangeWriter(BatchSink):
    """The writing side of an exchange: batches in order, each published once for all readers.

    Attributes:
        place: for messages.
        numbering: of the batches that it writes; "" in format 0.
    """

    place: str
    numbering: str = ""

    def describe(self, description: dict[str, object]) -> None:
        """Describes the stream before its first batch: readers wait for it. One without an owner, of an
        earlier version, becomes this installation's.

        Raises:
            FragmentError: it is another installation's, or cannot be made.
        """
        self.open()
        owner, own = self.owner(), installation.current()
        installation.refuse_another(self.place, owner)
        if own and owner is None:
            self.put_owner(own)
        self.put_description(description)

    @abstractmethod
    def open(self) -> None:
        """Makes the exchange if it does not exist. Raises FragmentError that says what is wrong with it."""

    @abstractmethod
    def owner(self) -> str | None:
        """The installation to which it belongs; None when that is not recorded."""

    @abstractmethod
    def put_owner(self, installation: str) -> None:
        """Makes it this installation's."""

    @abstractmethod
    def put_description(self, description: dict[str, object]) -> None:
        """Stores the description of the stream beside the batches."""

    def beyond(self, planned: int) -> str:
        """As of BatchSink, by `newest`."""
        newest = self.newest(planned)
        return f"{self.place}: batch {newest}" if newest > planned else ""

    def newest(self, planned: int) -> int:
        """The number of a batch behind `planned` that was published; at most `planned` where none is."""
        return -1

    def claim(self, numbering: str, fresh: bool) -> None:
        """Claims the exchange for this numbering; called with the lease held, before the first batch.

        Raises:
            OtherNumbering: it has batches of another one, or had some that were consumed.
        """
        claimed = self.claimed()
        if numbering != (claimed or ""):
            if self.used():
                raise OtherNumbering(self.place, claimed or "", numbering, FLOW_REMEDY)
            self.put_claim(numbering)
        self.numbering = numbering

    @abstractmethod
    def claimed(self) -> str | None:
        """The numbering that has claimed it; None: none has."""

    @abstractmethod
    def put_claim(self, numbering: str) -> None:
        """Makes it this numbering's."""

    @abstractmethod
    def used(self) -> bool:
        """Whether a batch was ever published: it still exists, or a reader has committed it."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether the stream has ended, in this life of its producer or one before."""

    @abstractmethod
    def announce(self, where: Mapping[str, object]) -> None:
        """Says where this process, which writes from now on, answers: `host`, `port`."""

    @abstractmethod
    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written. An empty batch too: it carries the clock."""

    @abstractmethod
    def end(self, batches: int, fence: Fence) -> None:
        """No batch from `batches` on will ever come."""

    @abstractmethod
    def unread(self) -> Unread:
        """What the slowest of its readers has not committed; one that has said nothing has read nothing."""

    @abstractmethod
    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs; how many batches."""


def follow(place: Place, start: int, following: int, numbering: str, where: str) -> Place:
    """The place before batch `following` of an exchange, where a reader goes on from `place`.

    Raises:
        OtherNumbering: what follows is not of the numbering of what was read.
    """
    present = place.get("of", "")
    if numbering != present and (present or place["next"] > start):
        raise OtherNumbering(where, numbering, present, FLOW_REMEDY)
    return {**place, "next": following, **({"of": numbering} if numbering else {})}


class Backend(Protocol):
    """A package of `weir_runtime.exchanges`."""

    def reader(self, flow: Location) -> ExchangeReader:
        """Of one flow."""

    def writer(self, flow: Location, spec: FragmentSpec) -> ExchangeWriter:
        """Of the flow that a fragment writes."""

    def remove(
        self, flows: Flows, root: str, namespace: str, is_gone: Callable[[str], bool], installation: str
    ) -> Swept:
        """Deletes the flows of the fragments of a namespace that `is_gone` names, as far as they are
        `installation`'s; `root`: as in `Flows.written`.

        Raises:
            OSError: that says which flows stay, and why.
        """
