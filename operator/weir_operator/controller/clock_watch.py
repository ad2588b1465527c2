"""Whether somebody has set the clock by which deadlines are counted."""

from __future__ import annotations

from collections.abc import Callable

SET = 5.0
"""[s] What a time server corrects little by little between two looks is less."""


class ClockWatch:
    """Compares the time of day with a clock that nobody sets, and that stands still while a machine sleeps.

    Args:
        steady: the latter [s].
    """

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._ahead: float | None = None  # [s] of the time of day, at the last look
        self._set_at = 0.0  # [s since 1970]

    def set_at(self, now: float) -> float:
        """When the time of day was last set, as `now` shows it; 0: never, as far as this watch knows."""
        ahead = now - self._steady()
        if self._ahead is not None and abs(ahead - self._ahead) >= SET:
            self._set_at = now
        self._ahead = ahead
        return self._set_at
