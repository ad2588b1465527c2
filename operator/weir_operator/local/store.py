"""Placements, statuses and events as files, one for each object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weir_runtime.lease import holder_is_gone, holder_name
from weir_runtime.names import read_json, write_whole

from weir_operator.controller.decision import DeletePlacement, Event, WritePlacement, WriteStatus


class RunStore:
    """What the controller writes about objects. Files in `asked` are written by the command line alone."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def there(self) -> bool:
        """Whether anything has run in the folder."""
        return any((self._root / name).exists() for name in ("objects.json", "controller.json", "placements"))

    def attend(self) -> None:
        """Says that this process is the controller, until it ends however it may."""
        write_whole(self._root / "controller.json", json.dumps({"holder": holder_name()}))

    def attended(self) -> bool:
        """Whether a controller is at work."""
        entry = read_json(self._root / "controller.json")
        return entry is not None and not holder_is_gone(entry["holder"])

    def queries(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(namespace/name, status) of every query in the manifests as they were read last."""
        for key in read_json(self._root / "objects.json") or {}:
            kind, namespace, name = key.split("/")
            if kind == "StreamQuery":
                yield f"{namespace}/{name}", self.status(kind, namespace, name)

    def placements(self) -> Iterator[dict[str, Any]]:
        """Placements as manifests, with what a person has approved or pinned in `spec`."""
        for path in sorted((self._root / "placements").glob("*/*.json")):
            raw = read_json(path)
            if raw is None:
                continue
            namespace, name = path.parent.name, path.stem
            revisions = read_json(self._revisions(namespace, name)) or {}
            meta = {"namespace": namespace, "name": name}
            spec = {**raw["spec"], **revisions}
            yield {"apiVersion": "weir.dev/v1alpha1", "kind": "Placement", "metadata": meta, "spec": spec} | {
                "status": raw["status"]
            }

    def write_placement(self, placement: WritePlacement | DeletePlacement) -> None:
        """Durable when it returns: the file is replaced as a whole."""
        namespace, name = placement.query.split("/", 1)
        path = self._root / "placements" / namespace / f"{name}.json"
        if isinstance(placement, DeletePlacement):
            path.unlink(missing_ok=True)
            self._revisions(namespace, name).unlink(missing_ok=True)
        else:
            write_whole(path, json.dumps({"spec": placement.spec, "status": placement.status}, indent=1))

    def set_revision(self, query: str, **fields: Any) -> None:
        """Sets `approval` or `pinned`, for `weir approve`, `rollback` and `unpin`; None removes it."""
        namespace, name = query.split("/", 1)
        path = self._revisions(namespace, name)
        merged = {**(read_json(path) or {}), **fields}
        write_whole(path, json.dumps({k: v for k, v in merged.items() if v is not None}))

    def status(self, kind: str, namespace: str, name: str) -> Mapping[str, Any]:
        """An object's status; empty before it is first written."""
        return read_json(self._status(kind, namespace, name)) or {}

    def write_status(self, status: WriteStatus) -> None:
        """Replaces the file."""
        path = self._status(status.kind, status.namespace, status.name)
        write_whole(path, json.dumps(status.status, indent=1))

    def emit(self, event: Event) -> None:
        """Appends a line to the log of events."""
        self._root.mkdir(parents=True, exist_ok=True)
        with open(self._root / "events.jsonl", "a") as log:
            log.write(json.dumps(vars(event)) + "\n")

    def events(self) -> list[Event]:
        """All that were emitted."""
        path = self._root / "events.jsonl"
        return [Event(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []

    def _status(self, kind: str, namespace: str, name: str) -> Path:
        return self._root / "status" / kind / (namespace or "_") / f"{name}.json"

    def _revisions(self, namespace: str, name: str) -> Path:
        return self._root / "asked" / namespace / f"{name}.json"
