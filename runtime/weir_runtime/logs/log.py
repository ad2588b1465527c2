"""What every log offers to the stream reader."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Place = dict[str, Any]
"""A position in a log: JSON, a pure function of what lies before it."""

BATCH_BYTES = 32 * 2**20
"""[bytes] of an input that one batch reads. Every hop joins batches that wait, so a bound on their number
alone would grow from hop to hop; and a range of offsets that is too large for the heap would end every later
start too."""

MOST_ROWS = 100_000
"""Rows of all inputs that one batch reads: what a row takes in state and heap, some 1,250 bytes in a join, is
far more than a narrow one is long."""


@dataclass(frozen=True)
class Room:
    """What a batch may still read of an input. However large it is, the first thing fits: else a reader would
    stand before it for ever.

    Attributes:
        bytes, rows: at most.
        begun: whether there is a first thing already.
    """

    bytes: float = BATCH_BYTES
    rows: float = MOST_ROWS
    begun: bool = False

    def after(self, size: int, rows: int) -> Room | None:
        """The room that is left when so many bytes and rows are read too; None when they do not fit."""
        if self.begun and (size > self.bytes or rows > self.rows):
            return None
        return Room(self.bytes - size, self.rows - rows, True)


ROOM = Room()
ENDLESS = Room(inf, inf)


@dataclass(frozen=True)
class Advance:
    """A later position: its clock [us] (no row behind the position is at or before it), and whether
    the log ends there. Where nothing comes though something should: for what it waits, in words, and the
    number of the file that is missing."""

    place: Place
    clock: int
    ended: bool
    waits: str = ""
    missing: int | None = None


class Log(ABC):
    """A log that can be read again from any position. Instances are sent to worker processes."""

    schema: pa.Schema  # of what `read` gives

    @abstractmethod
    def start(self) -> Place:
        """Where a fragment without a checkpoint begins."""

    @abstractmethod
    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """As far as is there now, at most `most` batches on that have `room`; `place` itself when nothing is
        new."""

    @abstractmethod
    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """The rows between two positions: the same at every call."""

    def backlog(self, place: Place) -> int:
        """Batches that wait behind `place`."""
        return 0

    def late(self, start: Place | None, end: Place) -> int:
        """Rows between two positions, or before `end`, that came too late and were set aside. (Those before a
        place of an earlier version, which does not say, are not counted.)"""
        count: int = end.get("late", 0) - (start.get("late", 0) if start else 0)
        return count

    def lost(self, start: Place | None, end: Place) -> int:
        """Rows between two positions, or before `end`, that were gone before they were read."""
        return 0

    def lost_files(self, start: Place | None, end: Place) -> int:
        """Files likewise, of whose rows nobody knows the number."""
        return 0

    def idle(self, place: Place) -> int:
        """Partitions that the clock behind `place` does not wait for."""
        return 0

    def bad(self, start: Place | None, end: Place) -> int:
        """Rows between two positions, or before `end`, that could not be read."""
        count: int = end.get("bad", 0) - (start.get("bad", 0) if start else 0)
        return count

    def clock_behind(self, place: Place) -> float:
        """[s] By how much the clock of this machine is behind the one by which the rows before a place were
        read; 0 where it is not."""
        behind: int = place.get("wall", 0) - time.time_ns() // 1000
        return max(0, behind) / 1e6

    def committed(self, place: Place) -> None:  # noqa: B027 - most logs need not know
        """Everything before `place` has been processed for good."""


def row_ids(upper: NDArray[np.uint64] | int, lower: NDArray[np.uint64], shift: int) -> pa.BinaryArray:
    """Eight bytes a row: `upper << shift | lower`, big-endian, so that ids sort as the log does."""
    ids = (np.asarray(upper, np.uint64) << np.uint64(shift)) | lower.astype(np.uint64)
    offsets = np.arange(len(lower) + 1, dtype=np.int32) * 8
    return pa.Array.from_buffers(
        pa.binary(), len(lower), [None, pa.py_buffer(offsets), pa.py_buffer(ids.astype(">u8").tobytes())]
    )
