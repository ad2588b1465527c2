"""Places of rows that this machine can neither read nor write, or that nobody names: each fragment would fail
there, again and again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from weir_placement.model.location import FOLDER

from weir_operator.api.connectors import Files
from weir_operator.manifests.finding import Finding, Key, ManifestError
from weir_operator.manifests.load import Loaded
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import key_of


def check_places(loaded: Loaded, base: Path) -> None:
    """Raises ManifestError, as `sourceless` and `unusable` say."""
    objects = loaded.objects
    if findings := [objects.place(finding) for finding in (*sourceless(loaded), *unusable(objects, base))]:
        raise ManifestError(findings)


def sourceless(loaded: Loaded) -> Iterator[Finding]:
    """A finding for each stream that a query reads and that does not say where its rows are."""
    queries = [query for group in loaded.built.groups for query in group.problem.queries]
    for name in sorted({stream for query in queries for stream in query.sources.values()}):
        if loaded.objects.streams[name].spec.source is None:
            right = "write where its rows are, such as files: {uri: in/readings, format: csv}"
            yield Finding(Key("Stream", *name.split("/", 1)), "spec.source", "is missing", right)


def unusable(objects: Objects, base: Path) -> Iterator[Finding]:
    """A finding for each; `base` is the folder below which relative URIs lie. What is not there yet may come:
    folders are made where they are written.

    Complexity: a folder is made, and removed again, beside each that is written.
    """
    for stream in objects.streams.values():
        source, key = stream.spec.source, Key("Stream", stream.metadata.namespace, stream.metadata.name)
        if source is not None:
            yield from _unreadable(source.files, base, key, "spec.source.files.uri")
            letters = source.dead_letter.files if source.dead_letter else None
            yield from _unwritable(letters, base, key, "spec.source.deadLetter.files.uri")
    for query in objects.queries.values():
        if not query.spec.suspend:
            key = key_of(query)
            yield from _unwritable(query.spec.sink.files, base, key, "spec.sink.files.uri")


def _unreadable(files: Files | None, base: Path, key: Key, path: str) -> Iterator[Finding]:
    if files is None or files.location.kind != FOLDER:
        return
    folder = base / files.location.address
    there = _first_there(folder)
    if os.path.isfile(there):
        above = Path(files.location.address).parent
        right = f"write its folder, {above}" if there == folder and above.name else "write a folder"
        yield Finding(key, path, f"{_shown(there, base)} is a file", right)


def _unwritable(files: Files | None, base: Path, key: Key, path: str) -> Iterator[Finding]:
    if files is None or files.location.kind != FOLDER:
        return
    there = _first_there(base / files.location.address)
    if os.path.isfile(there):
        yield Finding(key, path, f"{_shown(there, base)} is a file", "write a folder")
        return
    try:
        with tempfile.TemporaryDirectory(prefix=".weir-", dir=there):
            pass
    except OSError as error:
        wrong = f"{_shown(there, base)} cannot be written ({error.strerror or error})"
        yield Finding(key, path, wrong, "write another folder")


def _first_there(path: Path) -> Path:
    """The path itself, or the first above it that is there."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def _shown(path: Path, base: Path) -> str:
    return str(path.relative_to(base) if path.is_relative_to(base) else path)
