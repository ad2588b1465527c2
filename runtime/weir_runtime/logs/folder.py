"""Where the files of a source's log are: in a folder, or on an object store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from weir_placement.model.location import STORE, Location

from weir_runtime.logs.batches import size_of
from weir_runtime.mounts import STALE, on_a_network
from weir_runtime.names import SIZE, batch_name

BATCH = re.compile(r"[0-9]{10}\.[a-z]+")
"""A name as of `batch_name`."""


class Folder(Protocol):
    """Files by their names: never a listing. Can be sent to other processes.

    What is not known is never taken for absent: a question without an answer is an error, which `waiting`
    passes over.
    """

    def waiting(self) -> AbstractContextManager[None]:
        """Ends what stands in it when there is no answer, without an error for a while."""

    def has(self, name: str) -> bool:
        """Whether a file is there."""

    def size(self, name: str) -> int | None:
        """[bytes] of a file; None when it is not there."""

    def first(self, form: str, start: int) -> int | None:
        """The lowest number, from `start` on, of a file of this form: by a listing, where one is missing."""

    def stale(self) -> float:
        """[s] for which a name may not be seen that is there."""

    def open(self, name: str) -> pa.NativeFile:
        """An existing file, to be read from any offset."""

    def shown(self, name: str) -> str:
        """For messages."""


class LocalFolder:
    """Of a file system."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def waiting(self) -> AbstractContextManager[None]:
        """A file system answers."""
        return nullcontext()

    def has(self, name: str) -> bool:
        """Asks the file system."""
        return (self._path / name).exists()

    def size(self, name: str) -> int | None:
        """Asks the file system."""
        return size_of(self._path / name)

    def first(self, form: str, start: int) -> int | None:
        """Of the folder's listing; None of an empty one, or of none."""
        numbers = numbers_of(path.name for path in self._path.glob(f"*.{form}"))
        return min((number for number in numbers if number >= start), default=None)

    def stale(self) -> float:
        """A network file system keeps what it knows of names, also that there are none, for a while."""
        return STALE if on_a_network(self._path) else 0.0

    def open(self, name: str) -> pa.NativeFile:
        """Arrow files are mapped into memory, not copied."""
        return (pa.memory_map if name.endswith(".arrow") else pa.OSFile)(self.shown(name))

    def shown(self, name: str) -> str:
        """The path."""
        return str(self._path / name)


class StoreFolder:
    """Below a URI of an object store, whose client is imported where one is used."""

    def __init__(self, uri: str, options: Mapping[str, Any]) -> None:
        from weir_runtime.store import ObjectStore, Patience

        self._store = ObjectStore(uri, options)
        self._patience = Patience()

    def waiting(self) -> AbstractContextManager[None]:
        """A store that does not answer has nothing new, until it has been silent for too long."""
        return self._patience.waiting()

    def has(self, name: str) -> bool:
        """As `size` says."""
        return self.size(name) is not None

    def size(self, name: str) -> int | None:
        """Asks the store. Raises StoreError."""
        about = self._store.quick().about(name)
        return None if about is None else int(about[SIZE])

    def first(self, form: str, start: int) -> int | None:
        """Of the store's listing, which is in order. Raises StoreError."""
        after = batch_name(start - 1, form) if start else ""
        names = (name for name in self._store.names(after=after) if name.endswith(f".{form}"))
        return next(numbers_of(names), None)

    def stale(self) -> float:
        """What a store has is seen at once."""
        return 0.0

    def open(self, name: str) -> pa.NativeFile:
        """The whole object."""
        body = self._store.read(name)
        if body is None:
            raise FileNotFoundError(self.shown(name))
        return pa.BufferReader(pa.py_buffer(body))

    def shown(self, name: str) -> str:
        """The URI."""
        return f"{self._store.uri}/{name}"


def numbers_of(names: Iterable[str]) -> Iterator[int]:
    """Of the names that are a batch's."""
    return (int(name[:10]) for name in names if BATCH.fullmatch(name))


def folder_at(files: Location) -> Folder:
    """Of a path, or on an object store."""
    if files.kind == STORE:
        return StoreFolder(files.address, files.options)
    return LocalFolder(files.address)
