"""Whether the operator lives: the loop goes round, and the watches still say something.

The canary is the leader's Lease: somebody renews it every few seconds, and each renewal must come
back by this replica's own watch. A watch that has gone silent is thus noticed, where a timer in the
same process would go on ticking.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

ROUND_SECONDS = 180.0  # a full round at 10,000 nodes takes some 10 s
CANARY_SECONDS = 120.0
LAG_SECONDS = 300.0  # for which the largest lag of the event loop is remembered


class Liveness:
    """Times of the last signs of life [s], on the given clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._round = self._canary = clock()
        self.ready = False
        self._lags: deque[tuple[float, float]] = deque()

    def round_ended(self) -> None:
        """The loop's thread has gone round once (also when it only waits to lead)."""
        with self._lock:
            self._round = self._clock()

    def woke_late(self, seconds: float) -> None:
        """Kopf's event loop woke up `seconds` later than it asked to."""
        now = self._clock()
        self._lags.append((now, seconds))
        while now - self._lags[0][0] > LAG_SECONDS:
            self._lags.popleft()

    def largest_lag(self) -> float:
        """By which the event loop woke late in the last `LAG_SECONDS` [s]."""
        return max((lag for _, lag in list(self._lags)), default=0.0)

    def canary_seen(self) -> None:
        """The watch has shown a renewal of the leader's Lease."""
        with self._lock:
            self._canary = self._clock()

    def since_round(self) -> float:
        """Since the loop's thread last went round [s]."""
        return self._clock() - self._round

    def complaint(self) -> str:
        """What is wrong; empty while the operator lives."""
        with self._lock:
            loop, watch = self._clock() - self._round, self._clock() - self._canary
        if loop > ROUND_SECONDS:
            return f"the loop has not gone round for {loop:.0f} s"
        if watch > CANARY_SECONDS:
            return f"the watches have said nothing for {watch:.0f} s"
        return ""
