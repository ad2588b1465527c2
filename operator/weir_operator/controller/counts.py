"""Counters for the operator's metrics, of what several threads do."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Generic, TypeVar

K = TypeVar("K")


class Counts(Generic[K]):
    """How often each thing was done since the process began."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: Counter[K] = Counter()

    def add(self, what: K) -> None:
        """Once more."""
        with self._lock:
            self._totals[what] += 1

    def totals(self) -> dict[K, int]:
        """As they are now."""
        with self._lock:
            return dict(self._totals)
