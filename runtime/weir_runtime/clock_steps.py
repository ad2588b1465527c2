"""Whether somebody has set the machine's clock back. Spark waits for the next trigger by the time of day: set
back by an hour, it waits for an hour."""

from __future__ import annotations

import time

STEP = 5.0
"""[s] A shorter wait is cheaper than another start of Spark."""


class ClockSteps:
    """Compares the time of day with the clock since the machine's start, which nobody sets."""

    def __init__(self) -> None:
        self._ahead = _ahead()

    def set_back(self) -> float:
        """[s] By how much since the last call, if that is a step (STEP); else 0. What a time server corrects
        little by little is none."""
        before, self._ahead = self._ahead, _ahead()
        back = before - self._ahead
        return back if back >= STEP else 0.0


def _ahead() -> float:
    return time.time() - time.monotonic()
