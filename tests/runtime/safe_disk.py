"""A disk that keeps, through a loss of power, what was synced and nothing else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType

import pyarrow as pa
from weir_placement.model.fragment import FragmentSpec, Input
from weir_runtime.inputs import OpenInput, open_input
from weir_runtime.logs.log import ROOM, Advance, Log, Place, Room


@dataclass(frozen=True)
class SafeDisk:
    """Of some folders. What was synced is noted in a journal, by the processes of readers and tasks too."""

    journal: Path
    folders: tuple[Path, ...]

    def sync(self, path: Path) -> None:
        """As `durable.sync`; a file that is renamed or linked afterwards keeps its content."""
        self.journal.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            (self.journal / str(path.stat().st_ino)).write_bytes(path.read_bytes())

    def lose_power(self) -> int:
        """Empties what was not synced as it is; how many files that are."""
        files = [file for folder in self.folders for file in folder.rglob("*") if file.is_file()]
        lost = [file for file in files if not self._holds(file)]
        for file in lost:
            file.write_bytes(b"")
        return len(lost)

    def _holds(self, file: Path) -> bool:
        synced = self.journal / str(file.stat().st_ino)
        return synced.exists() and synced.read_bytes() == file.read_bytes()

    def open_input(self, item: Input, spec: FragmentSpec) -> OpenInput | None:
        """As of `inputs`; wherever its log is used, what that syncs is on this disk."""
        opened = open_input(item, spec)
        return opened and replace(opened, log=LogOnDisk(opened.log, self))


def syncing_modules() -> list[ModuleType]:
    """The runtime's that have `sync`."""
    modules = [module for name, module in sys.modules.items() if name.startswith("weir_runtime")]
    return [module for module in modules if "sync" in vars(module)]


class LogOnDisk(Log):
    """A log that is used in a process of its own, where a test's patches do not come."""

    def __init__(self, log: Log, disk: SafeDisk) -> None:
        self._log, self._disk, self._driver = log, disk, os.getpid()
        self.schema = log.schema

    def __getattribute__(self, name: str) -> object:
        own = partial(object.__getattribute__, self)
        if name.startswith("_") or name == "schema":
            return own(name)
        if os.getpid() != own("_driver"):
            for module in syncing_modules():
                vars(module)["sync"] = own("_disk").sync
        return getattr(own("_log"), name)

    def start(self) -> Place:
        """Of the log, as all others."""
        raise NotImplementedError

    def advance(self, place: Place, clock: int, most: int, room: Room = ROOM) -> Advance:
        """Of the log."""
        raise NotImplementedError

    def read(self, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
        """Of the log."""
        raise NotImplementedError
