"""A producer waits for its slowest reader, so that a flow takes a bounded disk while a reader is away."""

from __future__ import annotations

import time

from weir_runtime.exchanges.ports import ExchangeWriter
from weir_runtime.metrics import Metrics
from weir_runtime.source import Control
from weir_runtime.status import ProcessStatus

WEIGH = 2.0
"""[s] between two looks at what the readers have not read."""

ROOM = 10 * 2**30
"""[bytes] of a flow that its slowest reader may have left unread."""


class BackPressure:
    """Says by the flag `hold` of `control` whether readers of a producer's inputs may admit anything."""

    def __init__(self, exchange: ExchangeWriter, control: Control, status: ProcessStatus, metrics: Metrics):
        self._exchange = exchange
        self._control = control
        self._status = status
        self._metrics = metrics
        self._look_at = 0.0  # [s, monotonic]
        self._waits = False

    def look(self) -> None:
        """Now and then, how much is unread."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + WEIGH
            self.weigh()

    def weigh(self) -> None:
        """Takes the flag up or down, and says so in the state file."""
        unread, waits = self._exchange.unread(), ""
        self._metrics.unread.labels(**self._metrics.plain).set(unread.bytes)
        if unread.bytes > ROOM:
            self._control.set("hold")
            waits = f"{unread.reader} has not read {unread.bytes / 2**30:.1f} GiB of what was published"
        else:
            self._control.clear("hold")
        self._metrics.held_back.labels(**self._metrics.plain).set(bool(waits))
        if bool(waits) != self._waits:
            self._waits = bool(waits)
            self._status.wait_for("reader", waits)
