"""CPU time of processes and everything that they started, from /proc; of executors, by files."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from weir_placement.model.fragment import FragmentSpec

from weir_runtime.names import write_whole

TICKS = os.sysconf("SC_CLK_TCK")
PERIOD = 1.0
"""[s] An executor writes no oftener, and what a host has used is looked at no oftener."""

_PARENT, _USER, _SYSTEM, _ENDED_USER, _ENDED_SYSTEM, _START = 1, 11, 12, 13, 14, 19


class Cpu(Protocol):
    """What a fragment has used."""

    def seconds(self) -> float:
        """Since it began; never less than before."""

    def ran(self, seconds: float) -> None:
        """A batch of it took so long."""


class CpuMeter:
    """User and system seconds of a process and its descendants: never less than at the last look,
    because what a descendant had used when it was last seen stays counted after its end."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._used: dict[tuple[int, int], float] = {}

    def seconds(self) -> float:
        """All that was seen so far."""
        for process, fields in tree(self._pid):
            self._used[process, fields[_START]] = (fields[_USER] + fields[_SYSTEM]) / TICKS
        return sum(self._used.values())

    def ran(self, seconds: float) -> None:
        """The processes say what was used."""


class SharedCpu:
    """What the processes of a host use, split among its fragments by how long their batches ran. (Neither
    Spark's tasks nor the Python workers know what plans, checkpoints and state files of a query cost.)"""

    def __init__(self, meter: Cpu) -> None:
        self._meter = meter
        self._lock = threading.Lock()
        self._split = 0.0  # [s] of what was used that is somebody's
        self._looked = float("-inf")  # [s, monotonic]
        self._ran: dict[object, float] = {}  # [s] since the last split
        self._used: dict[object, float] = {}

    def part(self) -> Cpu:
        """One fragment's."""
        return PartOfCpu(self)

    def ran(self, who: object, seconds: float) -> None:
        """A batch of it took so long."""
        with self._lock:
            self._ran[who] = self._ran.get(who, 0.0) + seconds

    def seconds(self, who: object) -> float:
        """Its share of all that was used until now, or until a second ago."""
        with self._lock:
            if time.monotonic() - self._looked >= PERIOD:
                self._share()
            return self._used.get(who, 0.0)

    def forget(self, who: object) -> None:
        """Of one that has ended: what it used stays used."""
        with self._lock:
            self._share()
            self._used.pop(who, None)

    def _share(self) -> None:
        if everybody := sum(self._ran.values()):
            self._looked, total = time.monotonic(), self._meter.seconds()
            for one, ran in self._ran.items():
                self._used[one] = self._used.get(one, 0.0) + (total - self._split) * ran / everybody
            self._split, self._ran = total, {}


@dataclass(frozen=True, eq=False)
class PartOfCpu:
    """One fragment's share."""

    host: SharedCpu

    def seconds(self) -> float:
        """As of `Cpu`."""
        return self.host.seconds(self)

    def ran(self, seconds: float) -> None:
        """As of `Cpu`."""
        self.host.ran(self, seconds)


def executor_folder(spec: FragmentSpec) -> Path | None:
    """Where the executors of an epoch write what they have used; None without executors."""
    return Path(spec.checkpoint) / "cpu" / f"e{spec.epoch}" if spec.executors else None


def report(folder: Path) -> None:
    """From a Python worker of an executor: what its JVM and all below it have used, into a file of its own.

    The workers come and go, so nothing is remembered here: those that have ended are counted by whoever
    waited for them.
    """
    jvm = _fields(os.getppid())[_PARENT]
    file = folder / f"{socket.gethostname()}-{jvm}"
    if file.exists() and time.time() - file.stat().st_mtime < PERIOD:
        return
    parts = (_USER, _SYSTEM, _ENDED_USER, _ENDED_SYSTEM)
    used = sum(fields[part] for _, fields in tree(jvm) for part in parts)
    write_whole(file, str(used / TICKS))


def reported(folder: Path) -> float:
    """[s] What all executors of an epoch have written, those that are no more included."""
    files = folder.iterdir() if folder.exists() else ()
    return sum(float(file.read_text()) for file in files if not file.name.startswith("."))


def tree(pid: int) -> Iterator[tuple[int, list[int]]]:
    """A live process and its descendants with the numbers of /proc/PID/stat after the state."""
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        try:
            fields = _fields(process)
            for thread in Path(f"/proc/{process}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        except OSError:
            continue  # it ended while we looked
        yield process, fields


def _fields(pid: int) -> list[int]:
    """From the state on, which is put as 0."""
    return [0, *map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1:])]
