"""Made-up rows for the dummy run of a standby: enough to compile and warm what the real rows will use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from weir_placement.model.fragment import FOREVER

from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room

ROWS = 2_000
BATCHES = 2
ORIGIN = 1_600_000_000_000_000
STEP = 1_000
"""[us] between two rows."""


class WarmLog(Log):
    """`place` is {"next": batch}; every column of type timestamp and every `_t_` column has the time."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def start(self) -> Place:
        """Batch 0."""
        return {"next": 0}

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """One batch at a time, so that the later ones find the earlier ones' state."""
        number = min(place["next"] + 1, BATCHES)
        ended = number == BATCHES
        return Advance({"next": number}, FOREVER if ended else ORIGIN + number * ROWS * STEP - STEP, ended)

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Numbers are small and repeat, so that rows join and groups fill."""
        for number in range(start["next"], end["next"]):
            index = np.arange(number * ROWS, (number + 1) * ROWS)
            times = pa.array(ORIGIN + index * STEP)
            yield pa.RecordBatch.from_arrays(
                [_values(field, index, times) for field in self.schema], schema=self.schema
            )


def _values(field: pa.Field, index: np.ndarray, times: pa.Array) -> pa.Array:
    if field.name.startswith("_t_") or pa.types.is_timestamp(field.type):
        return times.cast(field.type)
    small = pa.array(index % 97)
    if pa.types.is_binary(field.type):
        return small.cast(pa.string()).cast(pa.binary())
    try:
        return small.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(index), field.type)
