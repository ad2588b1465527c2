"""While nobody confirms a process's lease it publishes nothing: its readers admit nothing either, and it says
so. It keeps its session and its state, and goes on when the lease is confirmed."""

from __future__ import annotations

import sys

from weir_runtime.metrics import Metrics
from weir_runtime.source import Control
from weir_runtime.status import ProcessStatus
from weir_runtime.tenure import Tenure

FLAG = "unconfirmed"


class LeasePause:
    """Says by a flag of `control` whether readers may admit anything."""

    def __init__(self, tenure: Tenure, control: Control, status: ProcessStatus, metrics: Metrics) -> None:
        self._tenure = tenure
        self._control = control
        self._status = status
        self._unconfirmed = metrics.unconfirmed.labels(**metrics.plain)
        self._unconfirmed.set(0)

    def over(self) -> bool:
        """Takes the flag up or down, and says so; whether the lease is confirmed."""
        why = self._tenure.unconfirmed()
        if bool(why) == self._status.paused:
            return not why
        if why:
            self._control.set(FLAG)
        else:
            self._control.clear(FLAG)
        self._unconfirmed.set(bool(why))
        self._status.pause(bool(why))
        text = f"its lease is not confirmed, so nothing is published: {why}" if why else ""
        self._status.wait_for("lease", text)
        print(text or "its lease is confirmed again: going on", file=sys.stderr)
        return not why
