"""Files in the folders of sources that no query reads, because of their names; sources without an end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from weir_placement.model.location import STORE, files_location
from weir_runtime.names import END, batch_name

from weir_operator.controller.record import read_record
from weir_operator.local.store import RunStore

NUMBERED = re.compile(r"(\d{10})\.([a-z]+)")


def overlooked(manifests: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A message for each Stream whose folder has such files, or is not there. Its URI is absolute.

    Complexity: one listing of each folder.
    """
    for manifest in manifests:
        files = ((manifest.get("spec") or {}).get("source") or {}).get("files")
        if manifest["kind"] == "Stream" and files and files_location(files).kind != STORE:
            meta = manifest["metadata"]
            on_loss = files.get("onDataLoss", "Fail")
            for message in _messages(Path(files["uri"]), files.get("format", "parquet"), on_loss):
                yield f"Stream {meta.get('namespace', 'default')}/{meta['name']}: {message}"


def source_streams(store: RunStore) -> list[Mapping[str, Any]]:
    """The Streams that the plans in force read, each once: their sources, with absolute URIs."""
    inputs = (
        source for raw in store.placements() for spec in read_record(raw).specs for source in spec.inputs
    )
    sources = {source.stream: source.source for source in inputs if source.kind == "source"}
    return [
        {"kind": "Stream", "metadata": dict(zip(("namespace", "name"), name.split("/"), strict=True))}
        | {"spec": {"source": source}}
        for name, source in sorted(sources.items())
    ]


def endless(manifests: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A message for each Stream that does not end, or not yet. Its URI is absolute."""
    for manifest in manifests:
        source = (manifest.get("spec") or {}).get("source") or {} if manifest["kind"] == "Stream" else {}
        files, meta = source.get("files"), manifest["metadata"]
        name = f"Stream {meta.get('namespace', 'default')}/{meta['name']}"
        if files and files_location(files).kind != STORE and not (Path(files["uri"]) / END).exists():
            yield f"{name}: {files['uri']} has no file {END}, so more rows may come: --until-finished waits"
        elif "kafka" in source or "rate" in source:
            yield f"{name}: {next(iter(source))} has no end: --until-finished would wait forever"


def _messages(folder: Path, form: str, on_loss: str) -> Iterator[str]:
    first, second = batch_name(0, form), batch_name(1, form)
    if not folder.is_dir():
        yield f"{folder}: no such folder; it waits for {first} there"
        return
    names = sorted(p.name for p in folder.iterdir() if p.name != END and p.name[0] not in "._")
    matches = [match for name in names if (match := NUMBERED.fullmatch(name))]
    strange = [name for name in names if not NUMBERED.fullmatch(name)]
    if strange:
        yield f"{_in(folder, strange)} never read: files are named {first}, {second}, ..., and at last {END}"
    if other := [match[0] for match in matches if match[2] != form]:
        yield f"{_in(folder, other)} never read: source.files.format is {form}"
    numbers = [int(match[1]) for match in matches if match[2] == form]
    gap = next((a + 1 for a, b in pairwise(numbers) if b > a + 1), None)
    if gap is not None:
        later = [batch_name(number, form) for number in numbers if number > gap]
        yield f"{_in(folder, later)} not read before {batch_name(gap, form)} is there"
        if (folder / END).exists() and on_loss == "Fail":
            missing = batch_name(gap, form)
            yield f"{folder}: {END} says that {missing} does not come: a query ends where it is missing"


def _in(folder: Path, names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{folder}: {', '.join(names[:3])}{more} {'is' if len(names) == 1 else 'are'}"
