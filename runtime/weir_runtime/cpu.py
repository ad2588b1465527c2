"""CPU time of a process and everything that it started, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree_cpu_seconds(pid: int) -> float:
    """User and system seconds of `pid`, its descendants, and their children that have ended."""
    total = 0.0
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue  # it ended while we looked
        total += sum(map(int, fields[11:15])) / TICKS
    return total
