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
FAILING_SECONDS = 300.0
"""After which a loop of which no round ends well is restarted: what it remembers may be what is wrong."""
LAG_SECONDS = 300.0  # for which the largest lag of the event loop is remembered


class Liveness:
    """Times of the last signs of life [s], on the given clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._round = self._canary = clock()
        self.ready = False
        self.failed_rounds = 0
        self._failing_since: float | None = None
        self._error = ""
        self._lags: deque[tuple[float, float]] = deque()

    def round_ended(self) -> None:
        """The loop's thread has gone round once (also when it only waits to lead)."""
        with self._lock:
            self._round = self._clock()

    def round_succeeded(self) -> None:
        """All of a round was done."""
        with self._lock:
            self._failing_since, self._error = None, ""

    def round_failed(self, error: Exception) -> None:
        """A round ended early. That nobody answers (an OSError) is no fault of this process: it is counted,
        and a restart would not help."""
        with self._lock:
            self.failed_rounds += 1
            if not isinstance(error, OSError):
                self._failing_since = self._clock() if self._failing_since is None else self._failing_since
                self._error = repr(error)

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
            now = self._clock()
            loop, watch, error = now - self._round, now - self._canary, self._error
            failing = 0.0 if self._failing_since is None else now - self._failing_since
        if loop > ROUND_SECONDS:
            return f"the loop has not gone round for {loop:.0f} s"
        if watch > CANARY_SECONDS:
            return f"the watches have said nothing for {watch:.0f} s"
        if failing > FAILING_SECONDS:
            return f"every round has failed for {failing:.0f} s, the last with {error}"
        return ""
