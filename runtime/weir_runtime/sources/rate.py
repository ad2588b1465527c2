"""A generator of rows, for demonstrations: row i is a pure function of i, its time included, so that all
readers see the same rows, and a changed plan can read them again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from weir_placement.model.fragment import FOREVER, FragmentError, Input

from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room, row_ids

ORIGIN = 1_577_836_800_000_000
"""[us] 2020-01-01: the event time of row 0."""

VALUES = 1_000
"""Distinct values of a generated column."""

BATCH_ROWS = 100_000
"""Rows in what counts as one batch."""


def open_log(
    item: Input, options: Mapping[str, Any], schema: pa.Schema, sidelog: str, ahead: Path | None
) -> Log:
    """Of `source.rate`. Raises FragmentError."""
    if "rowsPerSecond" not in options:
        raise FragmentError(f"input {item.name}: source.rate.rowsPerSecond: missing; give a number above 0")
    rate, rows, seed = float(options["rowsPerSecond"]), options.get("rows"), int(options.get("seed", 0))
    return RateLog(rate, schema, item.event_time, rows, seed, item.after)


class RateLog(Log):
    """`place` is {"next": row number, "end": row number of a finite one's end, else None}.

    Args:
        rate: rows/s.
        schema: the columns; numbers are below 1,000, strings are `<column>-<number>`.
        event_time: the column that gets the row's time.
        rows: how many from the first one read; None: without end.
        seed: another one gives other values.
        after: event time [us]: the first row read is the first later one; 0: the first that is due now.
    """

    def __init__(
        self,
        rate: float,
        schema: pa.Schema,
        event_time: str,
        rows: int | None = None,
        seed: int = 0,
        after: int = 0,
    ) -> None:
        self._rate = rate
        self._rows = rows
        self._seed = seed
        self._after = after
        self._event_time = event_time
        self._columns = schema
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """The row that comes due now, or the first one after `after`."""
        first = self._index(self._after) + 1 if self._after else self._index(time.time_ns() // 1000)
        return {"next": first, "end": None if self._rows is None else first + self._rows}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """Every row that is due."""
        rows = max(1, int(min(most * BATCH_ROWS, room.rows, room.bytes // self._row_bytes())))
        due = min(self._index(time.time_ns() // 1000), place["next"] + rows)
        due = max(place["next"], due if place["end"] is None else min(due, place["end"]))
        ended = place["end"] is not None and due >= place["end"]
        clock = FOREVER if ended else self._time(np.array([due], dtype=np.uint64))[0] - 1_000
        return Advance({**place, "next": due}, max(0, int(clock)), ended)

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """At most 65,536 rows a batch."""
        for low in range(start["next"], end["next"], 65_536):
            index = np.arange(low, min(low + 65_536, end["next"]), dtype=np.uint64)
            times = self._time(index)
            arrays = [
                self._values(position, field, index, times) for position, field in enumerate(self._columns)
            ]
            yield pa.RecordBatch.from_arrays([*arrays, row_ids(0, index, 0)], schema=self.schema)

    def _row_bytes(self) -> int:
        """Of rows as they are in memory."""
        (some,) = self.read({"next": 0}, {"next": VALUES})
        return max(1, int(some.nbytes) // VALUES)

    def _index(self, at: int) -> int:
        """The row that comes due at a time [us]."""
        return int((at - ORIGIN) * self._rate / 1e6)

    def _time(self, index: NDArray[np.uint64]) -> NDArray[np.int64]:
        return ORIGIN + (index.astype(float) * (1e6 / self._rate)).astype(np.int64)

    def _values(
        self, position: int, field: pa.Field, index: NDArray[np.uint64], times: NDArray[np.int64]
    ) -> pa.Array:
        if field.name == self._event_time:
            return pa.array(times).cast(field.type)
        salt = np.uint64(position + 1000 * self._seed)
        mixed = (index * np.uint64(0x9E3779B97F4A7C15) + salt) * np.uint64(0xBF58476D1CE4E5B9)
        number = ((mixed >> np.uint64(33)) % np.uint64(VALUES)).astype(np.int64)
        if pa.types.is_string(field.type):
            return pa.array([f"{field.name}-{value}" for value in number])
        if pa.types.is_boolean(field.type):
            return pa.array(number % 2 == 0)
        return pa.array(number).cast(field.type)
