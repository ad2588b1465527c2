"""Laying a snapshot below the folders of a new query's fragments, before the first of them starts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec
from weir_placement.model.location import FOLDER, STORE

from weir_runtime.checkpoint import RESTORED
from weir_runtime.durable import sync
from weir_runtime.installation import OWNER, record
from weir_runtime.labels import parts
from weir_runtime.names import write_whole
from weir_runtime.snapshots.manifest import (
    FragmentCut,
    SnapshotError,
    SnapshotManifest,
    read_manifest,
    verify,
)
from weir_runtime.snapshots.take import described, shape

SINKS = ("files", "console", "noop")
"""In which it can be seen, or does not matter, what was written after the snapshot."""


def restore(folder: Path, specs: Sequence[FragmentSpec], installation: str) -> None:
    """Puts the state of a snapshot below the new fragments' folders (`specs` in topological order).

    Idempotent: what a kill has left half done is done anew; a fragment that has its state is left alone.
    Nothing is written unless everything fits. O(bytes). Raises SnapshotError.
    """
    if all(is_restored(spec) for spec in specs):
        return
    manifest = read_manifest(folder)
    _check(folder, manifest, specs)
    verify(folder, manifest)
    for i, (cut, spec) in enumerate(zip(manifest.fragments, specs, strict=True)):
        if not is_restored(spec):
            _lay(folder / "fragments" / str(i), cut, spec, installation)


def is_restored(spec: FragmentSpec) -> bool:
    """Whether a fragment's checkpoint came from a snapshot, in whole."""
    return (Path(spec.checkpoint) / RESTORED).exists()


def _check(folder: Path, manifest: SnapshotManifest, specs: Sequence[FragmentSpec]) -> None:
    """Raises SnapshotError that names what differs."""
    if len(manifest.fragments) != len(specs):
        raise SnapshotError(
            f"snapshot {folder}: it has {len(manifest.fragments)} fragments, the query {len(specs)}: it is "
            "of another query"
        )
    for cut, spec in zip(manifest.fragments, specs, strict=True):
        if cut.shape != shape(spec):
            raise SnapshotError(
                f"snapshot {folder}: the operators of {spec.name} are not those of {cut.fragment}: give the "
                "query the same SQL or operators, and edit it when it runs"
            )
        if spec.output.flow is not None and spec.output.flow.kind != FOLDER:
            raise SnapshotError(
                f"snapshot {folder}: the flow of {spec.name} would be in {spec.output.flow.address}: "
                "snapshots are restored to flows in folders only"
            )
        _check_sources(folder, manifest, cut, spec)
    _check_sink(folder, manifest, specs[-1])


def _check_sources(folder: Path, manifest: SnapshotManifest, cut: FragmentCut, spec: FragmentSpec) -> None:
    sources, query = manifest.about.get("sources") or {}, str(manifest.about.get("query") or "")
    for item in spec.inputs:
        before = sources.get(item.name) if item.kind == "source" else None
        if before is None:
            continue
        theirs = _below_its_root(json.loads(before), _files_of(spec, query.split("/")[0]))
        ours = _below_its_root(json.loads(described(item)), _files_of(spec, spec.namespace))
        if theirs != ours:  # 10 is 10.0
            raise SnapshotError(
                f"snapshot {folder}: stream {item.stream} (input {item.name} of {cut.fragment}) has another "
                "source, schema or event time: its positions would mean other rows"
            )


def _files_of(spec: FragmentSpec, namespace: str) -> str:
    """In a cluster, the folder to which paths of a namespace's files are relative (manifests.md, "Files of
    sources and sinks"). Of `weir run`, which knows no such folder, no file lies there."""
    return f"{Path(spec.checkpoint).absolute().parents[2]}/files/{namespace}/"


def _below_its_root(source: list[Any], root: str) -> list[Any]:
    """What `described` says of a source, with the path of its files as the stream's object has it: a claim
    that was copied for another namespace has the same files below another folder."""
    *parts, kinds = source
    files = kinds.get("files") or {}
    uri = str(files.get("uri", ""))
    if not uri.startswith(root):
        return source
    return [*parts, {"files": {**files, "uri": uri.removeprefix(root)}}]


def _check_sink(folder: Path, manifest: SnapshotManifest, last: FragmentSpec) -> None:
    """The rows behind the cut come again: none of them may be in the sink."""
    output, cut = last.output, manifest.fragments[-1]
    if output.kind not in SINKS or (output.kind == "files" and output.files.kind == STORE):
        raise SnapshotError(
            f"snapshot {folder}: the sink ({output.kind}) may have rows written after it, and does not tell "
            "which: restore to a files sink in a folder"
        )
    if output.kind != "files":
        return
    before = {**manifest.sink.get("files", {}), cut.checkpoint: cut.planned}
    names = [path.name for path in Path(output.uri).glob("*.parquet")]
    later = sorted(n for n in names if (own := parts(n))[0] and own[1] > before.get(own[0], -1))
    if not later:
        return
    is_told = "files" in manifest.sink or all(parts(name)[0] == cut.checkpoint for name in later)
    which = f"{len(later)} files {'written after it' if is_told else 'that may have been written after it'}"
    names_of = later[0] if len(later) == 1 else f"{later[0]} to {later[-1]}"
    remedy = (
        "remove these files, or give the query another sink" if is_told else "give the query another sink"
    )
    raise SnapshotError(
        f"snapshot {folder}: sink {output.uri} has {which}, {names_of}: their rows would come twice; {remedy}"
    )


def _lay(source: Path, cut: FragmentCut, spec: FragmentSpec, installation: str) -> None:
    """The flow first: the checkpoint appears whole, and says that both are there."""
    if spec.output.flow is not None:
        flow = Path(spec.output.flow.address)
        shutil.copytree(source / "flow", flow, dirs_exist_ok=True)
        write_whole(flow / OWNER, json.dumps(record(installation)))
    target = Path(spec.checkpoint)
    partial = target.with_name(f".{target.name}.restoring")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source / "checkpoint", partial / cut.checkpoint)
    if (source / "newest").exists():
        shutil.copyfile(source / "newest", partial / f"{cut.checkpoint}.newest")
    write_whole(partial / OWNER, json.dumps(record(installation)))
    for path in (*partial.rglob("*"), *(flow.rglob("*") if spec.output.flow is not None else ())):
        sync(path)
    write_whole(partial / RESTORED, json.dumps({"checkpoint": cut.checkpoint}))
    if target.exists() and not any(target.glob("[!.]*/offsets/*")):
        shutil.rmtree(target)  # a process that was started and stopped before it had begun
    try:
        os.rename(partial, target)
    except OSError as error:
        raise SnapshotError(f"{target}: there is a checkpoint already ({error.strerror})") from None
    sync(target.parent)
