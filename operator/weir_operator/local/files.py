"""Manifests on disk as objects: read in every round; an edit with errors leaves the last good version."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from weir_placement.model.location import FOLDER, files_location
from weir_runtime.names import read_json, write_whole

from weir_operator.controller.observed_state import Manifest
from weir_operator.manifests.finding import Finding
from weir_operator.manifests.objects import from_documents
from weir_operator.manifests.read import Document, read

CLUSTER_KINDS = ("Node", "PlacementPolicy", "NetworkTopology")


class ManifestFiles:
    """Edits as `kubectl apply` would apply them: a new generation for each change of a spec, a new uid for an
    object that is created anew.

    Generations and uids are kept in the run folder, so that a restarted controller sees the same objects.
    """

    def __init__(self, paths: list[str], root: Path, tell: Callable[[list[Finding]], None]) -> None:
        self._paths = paths
        self._memory = root / "objects.json"
        self._tell = tell
        self._digest = ""
        self._objects: tuple[Manifest, ...] = ()
        self._complaint = ""
        self.places: dict[str, str] = {}  # "kind/namespace/name" -> file

    def objects(self) -> tuple[Manifest, ...]:
        """All objects now; files with errors change nothing and are reported once."""
        documents, findings = read(self._paths)
        text = json.dumps([d.raw for d in documents], sort_keys=True, default=str) + str(findings)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest != self._digest:
            self._digest = digest
            findings = findings or from_documents(documents)[1]
            if findings:
                self._complain(findings)
            else:
                self._complaint = ""
                self._objects = self._remember(documents)
        return self._objects

    def _complain(self, findings: list[Finding]) -> None:
        text = "\n".join(map(str, findings))
        if text != self._complaint:
            self._complaint = text
            self._tell(findings)

    def _remember(self, documents: list[Document]) -> tuple[Manifest, ...]:
        memory: dict[str, dict[str, Any]] = read_json(self._memory) or {}
        entries, objects = {}, []
        for document in documents:
            raw = document.raw
            meta = dict(raw.get("metadata") or {})
            if raw["kind"] not in CLUSTER_KINDS:
                meta.setdefault("namespace", "default")
            key = "/".join((raw["kind"], meta.get("namespace", ""), meta["name"]))
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
        write_whole(self._memory, json.dumps(entries))
        return tuple(objects)


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
