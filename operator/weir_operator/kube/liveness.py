"""Whether the operator is alive: the loop completes rounds, and the watches still deliver changes.

The canary is the leader's Lease: the leader renews it every few seconds, and each renewal must come back by
this replica's own watch. So a watch that has gone silent is noticed, where a timer in the same process would
go on ticking.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

ROUND_SECONDS = 180.0  # a full round at 10,000 nodes takes some 10 s
CANARY_SECONDS = 120.0
FAILING_SECONDS = 300.0
"""After this long without a successful round the process is restarted: its memory may be at fault."""
LAG_SECONDS = 300.0  # window of the largest lag of the event loop


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
        """The loop's thread has completed a round (even if it only waits to lead)."""
        with self._lock:
            self._round = self._clock()

    def round_succeeded(self) -> None:
        """A round ended without an error."""
        with self._lock:
            self._failing_since, self._error = None, ""

    def round_failed(self, error: Exception) -> None:
        """A round ended early. An OSError (no answer) is no fault of this process: it is only counted,
        because a restart would not help."""
        with self._lock:
            self.failed_rounds += 1
            if not isinstance(error, OSError):
                self._failing_since = self._clock() if self._failing_since is None else self._failing_since
                self._error = repr(error)

    def woke_late(self, seconds: float) -> None:
        """Kopf's event loop woke `seconds` later than it should have."""
        now = self._clock()
        self._lags.append((now, seconds))
        while now - self._lags[0][0] > LAG_SECONDS:
            self._lags.popleft()

    def largest_lag(self) -> float:
        """The most by which the event loop woke late in the last `LAG_SECONDS` [s]."""
        return max((lag for _, lag in list(self._lags)), default=0.0)

    def renewal_watched(self) -> None:
        """The watch has delivered a renewal of the leader's Lease."""
        with self._lock:
            self._canary = self._clock()

    def api_away(self) -> None:
        """The API server does not answer: there are no renewals to watch, and a restart would not help."""
        self.renewal_watched()

    def since_round(self) -> float:
        """Time since the loop's thread last completed a round [s]."""
        return self._clock() - self._round

    def complaint(self) -> str:
        """What is wrong; empty while the operator is alive."""
        with self._lock:
            now = self._clock()
            loop, watch, error = now - self._round, now - self._canary, self._error
            failing = 0.0 if self._failing_since is None else now - self._failing_since
        if loop > ROUND_SECONDS:
            return f"the loop has not completed a round for {loop:.0f} s"
        if watch > CANARY_SECONDS:
            return f"the watches have been silent for {watch:.0f} s"
        if failing > FAILING_SECONDS:
            return f"every round has failed for {failing:.0f} s; the last error is {error}"
        return ""
