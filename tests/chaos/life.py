"""A process of a fragment, as its files and the kernel show it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weir_runtime.checkpoint import Checkpoint
from weir_runtime.lease import holder_is_gone


@dataclass(frozen=True)
class Life:
    """Found by what `weir run` keeps of it."""

    fragment: str
    node: str
    pid: int
    holder: str
    state: Path
    checkpoints: Path  # one for each plan of the fragment

    @property
    def report(self) -> dict[str, object]:
        """The state that it reports."""
        with suppress(OSError, ValueError):
            return dict(json.loads(self.state.read_text()))
        return {"phase": ""}

    @property
    def planned(self) -> int:
        """The last batch of the fragment that is decided."""
        return max((Checkpoint(c).planned() for c in self._each()), default=-1)

    @property
    def committed(self) -> int:
        """The last batch of the fragment that is done."""
        return max((Checkpoint(c).committed() for c in self._each()), default=-1)

    @property
    def in_a_batch(self) -> bool:
        """Whether one is decided and not done."""
        return self.planned > self.committed

    def _each(self) -> Iterator[Path]:
        return self.checkpoints.glob("*[0-9a-f]")

    def signal(self, number: signal.Signals, session: bool = True) -> None:
        """To the process, or with its JVM and workers; nothing when it is gone."""
        with suppress(ProcessLookupError):
            (os.killpg if session else os.kill)(self.pid, number)

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return holder_is_gone(self.holder)

    @property
    def stands(self) -> bool:
        """Whether it was stopped."""
        with suppress(OSError):
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        return False
