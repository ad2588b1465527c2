"""Manifests on disk as objects: read in every round; an edit with errors leaves the last good version, and so
does a reading in which an object is missing that may only be about to be written."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from weir_placement.model.location import FOLDER, files_location
from weir_runtime.names import read_json, write_whole

from weir_operator.controller.observed_state import Manifest
from weir_operator.local.absences import Absences
from weir_operator.manifests.finding import Finding
from weir_operator.manifests.load import check
from weir_operator.manifests.read import Document, read
from weir_operator.manifests.site import HERE

CLUSTER_KINDS = ("Node", "PlacementPolicy", "NetworkTopology")

LOOK = 1.0
"""[s] between two readings, while nothing is known of the objects."""


class ManifestFiles:
    """Edits as `kubectl apply` would apply them: a new generation for each change of a spec, a new uid for an
    object that is created anew.

    Generations and uids are kept in the run folder, so that a restarted controller sees the same objects.

    Args:
        tell: is told of an edit with errors, once.
        clock: [s], which nobody sets.
        pause: waits so many seconds.
        trial: what stands there is taken at once, and remembered nowhere.
    """

    def __init__(
        self,
        paths: list[str],
        root: Path,
        tell: Callable[[list[Finding]], None],
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
        trial: bool = False,
    ) -> None:
        self._paths = paths
        self._memory = root / "objects.json"
        self._tell = tell
        self._absences = Absences(clock)
        self._pause = pause
        self._trial = trial
        self._known = frozenset[str](() if trial else read_json(self._memory) or ())
        self._digest = ""
        self._objects: tuple[Manifest, ...] = ()
        self._complaint = ""
        self.places: dict[str, str] = {}  # "kind/namespace/name" -> file

    def objects(self) -> tuple[Manifest, ...]:
        """All objects now; files with errors change nothing and are reported once. Nor does a reading that
        lacks an object of the last one, until that has been absent for long enough; a controller that starts
        with such a reading waits."""
        documents, findings = read(self._paths)
        while self._doubtful(documents, findings):
            if self._objects:
                return self._objects
            self._pause(LOOK)
            documents, findings = read(self._paths)
        text = json.dumps([d.raw for d in documents], sort_keys=True, default=str) + str(findings)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest != self._digest:
            self._digest = digest
            _, findings = check([self._dated(d) for d in documents], findings, site=HERE)
            if findings:
                self._complain(findings)
            else:
                self._complaint = ""
                self._objects = self._remember(documents)
        return self._objects

    def _doubtful(self, documents: list[Document], unreadable: list[Finding]) -> bool:
        """Whether objects are missing that may come back. What is in files that cannot be read is not known,
        so nothing is missing then: such a reading changes nothing."""
        names = {_name_in_memory(document.raw) for document in documents}
        return self._absences.doubtful(() if unreadable else self._known - names)

    def _complain(self, findings: list[Finding]) -> None:
        text = "\n".join(map(str, findings))
        if text != self._complaint:
            self._complaint = text
            self._tell(findings)

    def _dated(self, document: Document) -> Document:
        """With the time since when there is an object of this name: of two that exclude each other the later
        one is wrong."""
        entry = (read_json(self._memory) or {}).get(_name_in_memory(document.raw))
        if entry is None:
            return document
        meta = {**document.raw["metadata"], "creationTimestamp": _stamp(entry["created"])}
        return replace(document, raw={**document.raw, "metadata": meta})

    def _remember(self, documents: list[Document]) -> tuple[Manifest, ...]:
        memory: dict[str, dict[str, Any]] = read_json(self._memory) or {}
        entries, objects = {}, []
        for document in documents:
            raw = document.raw
            meta = dict(raw.get("metadata") or {})
            if raw["kind"] not in CLUSTER_KINDS:
                meta.setdefault("namespace", "default")
            key = _name_in_memory(raw)
            digest = hashlib.sha256(
                json.dumps(raw.get("spec"), sort_keys=True, default=str).encode()
            ).hexdigest()
            old = memory.get(key)
            entry = old or {"uid": str(uuid.uuid4()), "generation": 0, "spec": "", "created": time.time()}
            if entry["spec"] != digest:
                entry = {**entry, "spec": digest, "generation": entry["generation"] + 1}
            entries[key] = entry
            meta.update(
                uid=entry["uid"], generation=entry["generation"], creationTimestamp=_stamp(entry["created"])
            )
            objects.append({**raw, "metadata": meta})
            self.places[key] = document.file
        if not self._trial:
            write_whole(self._memory, json.dumps(entries))
            self._known = frozenset(entries)
        return tuple(objects)


def _name_in_memory(raw: Mapping[str, Any]) -> str:
    """Of an object, which may have errors: kind/namespace/name."""
    meta, kind = raw.get("metadata"), raw.get("kind")
    meta = meta if isinstance(meta, Mapping) else {}
    namespace = meta.get("namespace", "" if kind in CLUSTER_KINDS else "default")
    return f"{kind}/{namespace}/{meta.get('name')}"


def _stamp(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def resolve(manifest: Manifest, base: Path) -> Mapping[str, Any]:
    """The object with relative URIs of its files source or sink placed below `base`."""
    spec = dict(manifest.get("spec") or {})
    for field in ("source", "sink"):
        files = (spec.get(field) or {}).get("files")
        if files and files_location(files).kind == FOLDER:
            spec[field] = {**spec[field], "files": {**files, "uri": str(base / files["uri"])}}
        letters = ((spec.get(field) or {}).get("deadLetter") or {}).get("files")
        if letters and files_location(letters).kind == FOLDER:
            anchored = {**letters, "uri": str(base / letters["uri"])}
            spec[field] = {**spec[field], "deadLetter": {"files": anchored}}
    return {**manifest, "spec": spec}
