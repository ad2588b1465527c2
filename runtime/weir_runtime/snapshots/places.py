"""Where snapshots lie: below a folder, or below a prefix of an object store, each as NAMESPACE/NAME."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.location import STORE, Location

from weir_runtime.snapshots.manifest import (
    CHECKSUM,
    MANIFEST,
    SnapshotError,
    SnapshotManifest,
    is_complete,
    read_manifest,
)
from weir_runtime.snapshots.take import take
from weir_runtime.store import ObjectStore

TAKER = "taker"
"""An object beside a snapshot's files: the uid of who takes it, created before the first of them."""


class SnapshotFiles(ABC):
    """One snapshot in its place; `uid` is that of the object that orders it."""

    @abstractmethod
    def take(self, specs: Sequence[FragmentSpec], about: Mapping[str, Any], uid: str) -> SnapshotManifest:
        """As `weir_runtime.snapshots.take`; done again for the same `uid` it is the same snapshot."""

    @abstractmethod
    def folder(self) -> Any:
        """A context with the folder that has its files, which are there while it lasts."""

    @abstractmethod
    def remove(self, uid: str) -> None:
        """Removes it if `uid` has taken it; what another one has taken, or nobody, stays."""


def place_of(location: Location, name: str, staging: Path) -> SnapshotFiles:
    """Of the snapshot `name` (namespace/name). `staging`: a folder with room for one, for stores."""
    if location.kind == STORE:
        return InStore(ObjectStore(f"{location.address}/{name}", location.options), staging / name)
    return InFolder(Path(location.address) / name)


class InFolder(SnapshotFiles):
    """A folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, specs: Sequence[FragmentSpec], about: Mapping[str, Any], uid: str) -> SnapshotManifest:
        if is_complete(self._folder):
            manifest = read_manifest(self._folder)
            if manifest.about.get("uid") == uid:
                return manifest
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        return take(specs, {**about, "uid": uid}, self._folder)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        yield self._folder

    def remove(self, uid: str) -> None:
        going = self._folder.with_name(f".{self._folder.name}.{uid}.removing")
        if is_complete(self._folder) and read_manifest(self._folder).about.get("uid") == uid:
            self._folder.rename(going)
        shutil.rmtree(going, ignore_errors=True)
        shutil.rmtree(self._folder.with_name(f".{self._folder.name}.{uid}partial"), ignore_errors=True)


class InStore(SnapshotFiles):
    """Objects below a prefix of its own, uploaded from and downloaded to the folder `staged`."""

    def __init__(self, store: ObjectStore, staged: Path) -> None:
        self._store = store
        self._staged = staged

    def take(self, specs: Sequence[FragmentSpec], about: Mapping[str, Any], uid: str) -> SnapshotManifest:
        if not self._store.create(TAKER, uid.encode()) and self._taker() != uid:
            raise SnapshotError(f"snapshot {self._store.uri}: there is one already; give another name")
        with self._empty():
            if self._store.read(CHECKSUM) is not None:
                self._download((MANIFEST, CHECKSUM))
                return read_manifest(self._staged)
            manifest = take(specs, {**about, "uid": uid}, self._staged)
            self._upload(manifest)
            return manifest

    def _upload(self, manifest: SnapshotManifest) -> None:
        """The checksum of the manifest last: without it the snapshot is not complete."""
        self._store.delete([name for name in self._store.names() if name != TAKER])
        for name in (*manifest.files, MANIFEST, CHECKSUM):
            self._store.put_file(name, self._staged / name)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        with self._empty():
            self._download(name for name in self._store.names() if name != TAKER)
            yield self._staged

    def remove(self, uid: str) -> None:
        if self._taker() != uid:
            return
        self._store.delete([CHECKSUM])
        self._store.delete([name for name in self._store.names() if name != TAKER])
        self._store.delete([TAKER])

    def _taker(self) -> str:
        body = self._store.read(TAKER)
        return "" if body is None else bytes(body).decode()

    def _download(self, names: Any) -> None:
        for name in names:
            path = self._staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._store.fetch(name, path)

    @contextmanager
    def _empty(self) -> Iterator[None]:
        """While it lasts the staged folder is this one's; before and after it is not there."""
        shutil.rmtree(self._staged, ignore_errors=True)
        self._staged.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            shutil.rmtree(self._staged, ignore_errors=True)
