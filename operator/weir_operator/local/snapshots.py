"""Snapshots of queries in the run folder: `snapshots/<namespace>/<name>/`, each a folder to be copied."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec
from weir_runtime.checkpoint import RESTORED
from weir_runtime.snapshots.manifest import SnapshotError, SnapshotManifest, is_complete, read_manifest
from weir_runtime.snapshots.restore import restore
from weir_runtime.snapshots.take import take

from weir_operator.controller.ports import Refused
from weir_operator.controller.query_snapshots import about_query
from weir_operator.controller.record import read_record


class Snapshots:
    """Those of one run folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[str, Mapping[str, Any]] = {}

    def take(self, placement: Mapping[str, Any], name: str) -> SnapshotManifest:
        """Of the query whose Placement this is, as it runs. Raises SnapshotError."""
        record = read_record(placement)
        if record.retained or not record.specs:
            raise SnapshotError(f"query {record.query}: no process of it is running")
        if record.leaving:
            raise SnapshotError(
                f"query {record.query}: an edit is under way, and both plans run: try again when "
                "`weir status` no longer says Changing"
            )
        about = about_query(record.query, placement)
        return take(record.specs, about, self._folder(f"{record.query.split('/')[0]}/{name}"))

    def of_query(self, query: str) -> list[tuple[str, SnapshotManifest]]:
        """Names (namespace/name) and manifests of a query's complete snapshots, oldest first."""
        namespace = query.split("/")[0]
        names = [f"{namespace}/{path.name}" for path in self._complete(namespace)]
        own = [(name, manifest) for name in names if (manifest := read_manifest(self._folder(name)))]
        return sorted((e for e in own if e[1].about["query"] == query), key=lambda entry: entry[1].taken)

    def remove(self, name: str) -> None:
        """Its checksum first: what a kill leaves of it is not complete."""
        folder = self._folder(name)
        (folder / "manifest.sha256").unlink(missing_ok=True)
        shutil.rmtree(folder)

    def observe(self) -> dict[str, Mapping[str, Any]]:
        """What each complete snapshot says of its query; one that is damaged says nothing."""
        abouts: dict[str, Mapping[str, Any]] = {}
        for path in self._complete("*"):
            name = f"{path.parent.name}/{path.name}"
            if name not in self._read:
                try:
                    self._read[name] = read_manifest(path).about
                except SnapshotError as error:
                    self._read[name] = {"damaged": str(error)}
            abouts[name] = self._read[name]
        return abouts

    def restored(self) -> frozenset[str]:
        """Fragments whose state came from a snapshot."""
        return frozenset(path.parent.name for path in self._root.glob(f"checkpoints/*/*/{RESTORED}"))

    def restore(self, name: str, specs: Sequence[FragmentSpec], installation: str) -> None:
        """See `weir_runtime.snapshots.restore`. Raises Refused."""
        try:
            restore(self._folder(name), specs, installation)
        except SnapshotError as error:
            raise Refused(str(error)) from None

    def _complete(self, namespace: str) -> list[Path]:
        folders = sorted(self._root.glob(f"snapshots/{namespace}/[!.]*"))
        return [path for path in folders if is_complete(path)]

    def _folder(self, name: str) -> Path:
        return self._root / "snapshots" / name
