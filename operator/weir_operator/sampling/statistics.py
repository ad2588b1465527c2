"""Figures of a sample that planning needs: rate, disorder, distinct values."""

from __future__ import annotations

import time
from math import ceil

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from weir_runtime.arrow_types import event_times

from weir_operator.sampling.sample import Sample

LENGTHS = (1, 10, 60, 600, 3600, 21_600, 86_400)
"""[s] Lengths of a first query's windows."""
RATES = ((1.0, ""), (1e3, "m"), (1e6, "u"))
"""How many of a unit a row is, and its letter in a quantity."""
WINDOWS = 20
"""A first query shows about so many of them, so that a person can look at them."""


def times(sample: Sample) -> NDArray[np.int64]:
    """Event times [us], shape (rows,), as they arrive."""
    return event_times(sample.rows, sample.time)


def rate(sample: Sample) -> tuple[str, str]:
    """[rows/s] as a quantity, and what that is: from the messages' own times, else from event times, else a
    guess."""
    moments = times(sample)
    span = float(moments.max() - moments.min()) / 1e6
    seconds, origin = (
        (sample.content.seconds, "from arrivals") if sample.content.seconds else (span, "from event times")
    )
    if not seconds:
        return "1", "a guess: no two rows differ in time"
    rows = sample.rows.num_rows / seconds
    shown = next(f"{ceil(rows * size)}{unit}" for size, unit in RATES if rows * size >= 1 or unit == "u")
    return shown, origin


def disorder(sample: Sample) -> int:
    """[s] By how much the latest row is behind the newest before it, rounded up."""
    moments = times(sample)
    return ceil(float((np.maximum.accumulate(moments) - moments).max()) / 1e6)


def is_ahead(sample: Sample) -> bool:
    """Whether a row is more than a day ahead of this machine's clock, and would be a bad row by default."""
    return float(times(sample).max()) / 1e6 > time.time() + 86_400


def distinct(sample: Sample) -> dict[str, int]:
    """Distinct values by column, but the event time's."""
    return {
        name: max(1, int(pc.count_distinct(sample.rows.column(name)).as_py()))
        for name in sample.types
        if name != sample.time
    }


def window(sample: Sample) -> int:
    """[s] The length of which the sample fills about 20."""
    moments = times(sample)
    span = float(moments.max() - moments.min()) / 1e6
    return next((length for length in LENGTHS if span / length <= WINDOWS), LENGTHS[-1])
