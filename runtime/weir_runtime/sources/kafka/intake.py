"""What one fetch takes of the messages that come, from all partitions in one sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message

from weir_runtime.logs.log import Room

CHUNK = 5_000, 2 * 2**20
"""Messages, and bytes of them, that are taken from the client at once."""

EARLY = 2**20
"""[bytes] of a partition's messages that may come before they are wanted."""


class OffsetsGone(LookupError):
    """An offset that should be read next is not in the topic."""


@dataclass(frozen=True)
class Range:
    """Offsets of a partition: from `first` at least up to `until`, and none from `limit` on."""

    first: int
    until: int
    limit: int


@dataclass
class Messages:
    """Of a partition: values with their offsets, without tombstones, and how far they go. What lies between
    two offsets was aborted, or compacted, or says how a transaction ended."""

    reached: int
    values: list[bytes] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


class Intake:
    """Sorts messages by partition until all ranges are full, or the `room`: the message that uses it up is
    the last one.

    Attributes:
        messages: by partition.
        early: came before they were wanted, in their order.
        moved: whether the latest messages brought anything on.
        trouble: the client's latest error.
    """

    def __init__(self, ranges: Mapping[str, Range], room: Room) -> None:
        self.messages = {key: Messages(item.first) for key, item in ranges.items()}
        self._room = room
        self.early: list[Message] = []
        self.moved = False
        self.trouble = ""
        self._ranges = {int(key): item for key, item in ranges.items()}
        self._messages = {int(key): messages for key, messages in self.messages.items()}
        self._bytes_early: dict[int, int] = {}
        self._count, self._bytes = 0, 0

    def left(self) -> int:
        """How many offsets are still to come, at most."""
        return sum(max(0, item.until - self._messages[n].reached) for n, item in self._ranges.items())

    def chunk(self) -> int:
        """How many messages may be taken at once: not many before it is known how wide they are."""
        count, size = CHUNK
        narrow = size * self._count // max(1, self._bytes) if self._count else 50
        return max(1, int(min(count, narrow, self.left(), self._room.rows - self._count)))

    def is_full(self) -> bool:
        """Whether the room is used up."""
        return self._bytes >= self._room.bytes or self._count >= self._room.rows

    def full(self) -> list[int]:
        """Partitions of which too much has come early."""
        return [number for number, size in self._bytes_early.items() if size > EARLY]

    def unfinished(self) -> str:
        """For messages: what is still to come, and why it may not."""
        open_ = [(n, m.reached) for n, m in self._messages.items() if m.reached < self._ranges[n].until]
        where = ", ".join(f"partition {number} from {at} on" for number, at in open_)
        return f"{where} ({self.trouble})" if self.trouble else where

    def take(self, messages: Iterable[Message]) -> None:
        """Raises OffsetsGone, KafkaException for what the client cannot go on from."""
        self.moved = False
        for message in messages:
            number, offset, error = message.partition(), message.offset(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                self._fail(error)
                continue
            own, limit = self._messages[number], self._ranges[number].limit
            if number in self._bytes_early or self.is_full():
                self._keep(message)
            elif error is not None or offset >= limit:  # what lies before has come, or never will
                self.moved |= own.reached < min(offset, limit)
                own.reached = max(own.reached, min(offset, limit))
                if error is None:
                    self._keep(message)
            elif offset >= own.reached:
                own.reached, self.moved = offset + 1, True
                if (value := message.value()) is not None:
                    own.values.append(value)
                    own.offsets.append(offset)
                    self._count += 1
                    self._bytes += len(value)

    def _keep(self, message: Message) -> None:
        number, size = message.partition(), len(message.value() or b"") if message.error() is None else 0
        self._bytes_early[number] = self._bytes_early.get(number, 0) + size
        self.early.append(message)

    def _fail(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise OffsetsGone(error.str())
        if error.fatal():
            raise KafkaException(error)
        self.trouble = error.str()
