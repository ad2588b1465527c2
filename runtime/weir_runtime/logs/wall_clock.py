"""The time of day by which rows are too far ahead. On one machine of a query it may be wrong: behind by
minutes, or since a start without a battery by years. Rows of now would be put away as rows of the future."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

from weir_runtime.logs.log import Place

RELEASED = datetime(2026, 1, 1, tzinfo=UTC)
"""Nobody has run this version before."""

TOLD = 1_000_000
"""[us] A clock that is less behind is not worth a message."""


def check_clock() -> None:
    """Raises RuntimeError for a machine's clock that shows a day before this version was made."""
    now = datetime.fromtimestamp(time.time_ns() / 1e9, UTC)
    if now < RELEASED:
        raise RuntimeError(
            f"the clock of this machine shows {now:%Y-%m-%d %H:%M} UTC, and this version was made after "
            f"{RELEASED:%Y-%m-%d}: every row would be too far ahead of it. Set the clock; the fragment then "
            "goes on"
        )


class WallClock:
    """A clock that never goes back: neither in this process, nor to before the time at which earlier ones
    have read what is behind a place. From the latest time that it knows it goes on by itself.

    Args:
        source: for messages.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._start: int | None = None  # [us] the time of day at 0 of the machine's monotonic clock
        self._told = False

    def now(self, place: Place) -> int:
        """[us] since 1970, for whoever reads on from a place."""
        monotonic, shown = time.monotonic_ns() // 1000, time.time_ns() // 1000
        latest: int = max(shown, place.get("wall", 0))
        start = latest - monotonic if self._start is None else max(self._start, latest - monotonic)
        self._start = start
        now = monotonic + start
        if now - shown >= TOLD and not self._told:
            self._told = True
            print(
                f"{self._source}: the clock of this machine is {(now - shown) / 1e6:.0f} s behind the one by "
                "which rows were read before; that one decides which are too far ahead. Set the clock",
                file=sys.stderr,
            )
        return now
