"""CPU time of a process and everything that it started, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class CpuMeter:
    """User and system seconds of a process and its descendants: never less than at the last look,
    because what a descendant had used when it was last seen stays counted after its end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used: dict[tuple[int, int], float] = {}

    def seconds(self) -> float:
        """All that was seen so far."""
        waiting = [self._pid]
        while waiting:
            process = waiting.pop()
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                for thread in Path(f"/proc/{process}/task").iterdir():
                    waiting += map(int, (thread / "children").read_text().split())
            except OSError:
                continue  # it ended while we looked
            start, user, system = int(fields[19]), int(fields[11]), int(fields[12])
            self._used[process, start] = (user + system) / TICKS
        return sum(self._used.values())
