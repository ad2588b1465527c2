"""When what is absent from files counts as deleted: while somebody saves a file it is away, or cut short."""

from __future__ import annotations

from collections.abc import Callable, Collection

READINGS = 3
SECONDS = 5.0
"""In so many readings, over this time at least."""


class Absences:
    """How long objects that were there have been absent.

    Args:
        clock: [s], which nobody sets.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, float]] = {}  # readings without it, and when the first of them was

    def doubtful(self, absent: Collection[str]) -> bool:
        """Whether one of those that are absent in this reading may still come back."""
        now = self._clock()
        earlier = {name: self._seen.get(name, (0, now)) for name in absent}
        self._seen = {name: (readings + 1, since) for name, (readings, since) in earlier.items()}
        return any(readings < READINGS or now - since < SECONDS for readings, since in self._seen.values())
