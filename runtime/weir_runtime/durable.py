"""Files that outlive a loss of power: content is on the disk before its name is."""

from __future__ import annotations

import fnmatch
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from weir_placement.model.identity import digest


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A file's name beside `path`, `.<its name>.<who writes>`, to be written there and then put in its place.
    What is left under it goes, also after an error: of a disk that is full it would take what is left."""
    temporary = path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.{threading.get_native_id()}")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def put_in_place(path: Path, write: Callable[[Path], object]) -> None:
    """What `write` writes to the path that it is given, at `path` in one step: a reader sees the old file or
    the new one, also after a loss of power; on return it is the new one. Writing it again changes nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with beside(path) as temporary:
        write(temporary)
        sync(temporary)
        temporary.replace(path)
    sync(path.parent)


def drop_unfinished(folder: Path, names: str, below: bool = False) -> None:
    """Removes what writers that were killed have left of files of these names, a glob; also in folders below.
    For whoever alone may write them now: one that was frozen finds its file gone, and publishes nothing.
    One listing of each folder."""
    for path, folders, files in os.walk(folder):
        if not below:
            folders.clear()
        hidden = (name for name in files if name.startswith("."))  # of many, few
        for name in fnmatch.filter(hidden, f".{names}.*"):
            Path(path, name).unlink(missing_ok=True)


@cache
def _machine() -> str:
    """A task may run again on another machine while its first try still writes; in pods, ids of processes are
    the same ones everywhere. Short, since names are."""
    return digest(socket.gethostname(), 8)


def sync(path: Path) -> None:
    """Returns when the content of a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
