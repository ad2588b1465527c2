"""A generator of rows, for demonstrations: row i is a pure function of i."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weir_runtime.logs.log import Advance, Log, Place, row_ids
from weir_runtime.names import FOREVER

VALUES = 1_000
"""Distinct values of a generated column."""

MOST_ROWS = 100_000
"""Rows in what counts as one batch."""


class RateLog(Log):
    """`place` is {"next": row number, "origin": event time of row 0 [us]}.

    Args:
        rate: rows/s.
        schema: the columns; numbers are below 1,000, strings are `<column>-<number>`.
        event_time: the column that gets the row's time.
        rows: how many; None: without end.
    """

    def __init__(self, rate: float, schema: pa.Schema, event_time: str, rows: int | None = None) -> None:
        self._rate = rate
        self._rows = rows
        self._event_time = event_time
        self._columns = schema
        self.schema = schema.append(pa.field("_id", pa.binary()))

    def start(self) -> Place:
        """Row 0 is due now."""
        return {"next": 0, "origin": time.time_ns() // 1000}

    def advance(self, place: Place, clock: int, most: int) -> Advance:
        """Every row that is due."""
        due = int((time.time_ns() // 1000 - place["origin"]) * self._rate / 1e6)
        due = max(place["next"], min(due, place["next"] + most * MOST_ROWS, self._rows or due))
        ended = self._rows is not None and due >= self._rows
        clock = FOREVER if ended else self._time(place, np.array([due]))[0] - 1_000
        return Advance({**place, "next": due}, max(0, int(clock)), ended)

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """At most 65,536 rows a batch."""
        for low in range(start["next"], end["next"], 65_536):
            index = np.arange(low, min(low + 65_536, end["next"]), dtype=np.uint64)
            times = self._time(start, index)
            arrays = [
                self._values(position, field, index, times) for position, field in enumerate(self._columns)
            ]
            yield pa.RecordBatch.from_arrays([*arrays, row_ids(0, index, 0)], schema=self.schema)

    def _time(self, place: Place, index: NDArray[np.uint64]) -> NDArray[np.int64]:
        return place["origin"] + (index.astype(float) * (1e6 / self._rate)).astype(np.int64)

    def _values(
        self, position: int, field: pa.Field, index: NDArray[np.uint64], times: NDArray[np.int64]
    ) -> pa.Array:
        if field.name == self._event_time:
            return pa.array(times).cast(field.type)
        mixed = (index * np.uint64(0x9E3779B97F4A7C15) + np.uint64(position)) * np.uint64(0xBF58476D1CE4E5B9)
        number = ((mixed >> np.uint64(33)) % np.uint64(VALUES)).astype(np.int64)
        if pa.types.is_string(field.type):
            return pa.array([f"{field.name}-{value}" for value in number])
        if pa.types.is_boolean(field.type):
            return pa.array(number % 2 == 0)
        return pa.array(number).cast(field.type)
