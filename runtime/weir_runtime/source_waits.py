"""What a fragment's sources wait for, told by their readers, in its state file and metrics."""

from __future__ import annotations

from collections.abc import Iterable

from weir_runtime.metrics import Metrics
from weir_runtime.source import Control
from weir_runtime.status import ProcessStatus


class SourceWaits:
    """Of the inputs `names`, whose readers are in other processes: they tell it by `control`."""

    def __init__(
        self, names: Iterable[str], control: Control, status: ProcessStatus, metrics: Metrics
    ) -> None:
        self._latest: dict[str, object] = dict.fromkeys(names)
        self._control = control
        self._status = status
        self._metrics = metrics

    def look(self) -> None:
        """What is new since the last look."""
        for name, before in self._latest.items():
            latest = self._control.told(name)
            if latest != before:
                self._latest[name] = latest
                waits, missing = latest or ("", None)
                self._status.wait_for(f"input {name}", f"{name}: {waits}" if waits else "")
                self._metrics.miss(name, missing)
