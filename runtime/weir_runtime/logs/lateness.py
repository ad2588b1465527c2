"""Which rows are late: decided once, at the source, from the order of the log alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weir_runtime.logs.log import Place
from weir_runtime.names import PLAUSIBLE

MILLISECOND = 1_000
"""[us] Spark's watermarks are whole milliseconds and exclusive: a row at the watermark is late."""


def on_time(times: NDArray[np.int64], maximum: int | None, delay: int) -> NDArray[np.bool_]:
    """Which rows are at most `delay` older than the running maximum before them.

    Args:
        times: event times [us], shape (n,), in the log's order.
        maximum: the running maximum before the first row; None at the log's beginning.
        delay: [us].
    """
    before = np.empty(len(times), dtype=np.int64)
    if len(times) == 0:
        return before.astype(bool)
    before[0] = times[0] if maximum is None else maximum
    np.maximum(np.maximum.accumulate(times)[:-1], before[0], out=before[1:])
    return times >= before - delay


def behind_late(place: Place, late: int) -> Place:
    """A place with the count of late rows before it, which stands in it where there are any: files of late
    rows are for people, and nobody counts them again."""
    return {**place, "late": place.get("late", 0) + late} if late else place


def clock_after(maximum: int | None, delay: int) -> int:
    """[us] No row after a running maximum of `maximum` that is on time is at or before this."""
    if maximum is None:
        return 0
    whole_delay = -(-delay // MILLISECOND) * MILLISECOND
    return max(0, maximum - whole_delay - MILLISECOND)


def check_times(times: NDArray[np.int64], where: str) -> None:
    """Raises ValueError for event times that cannot be distinguished from a watermark's limits."""
    wrong = np.flatnonzero((times <= 0) | (times >= PLAUSIBLE))
    if len(wrong):
        raise ValueError(
            f"{where}: row {wrong[0] + 1} has event time {times[wrong[0]]} us; "
            f"event times must be after 1970-01-01 and before 9990-01-01"
        )
