"""Taking a snapshot while the query runs: nobody is stopped, and nothing is asked of its processes.

A fragment's cut is a batch c that it has committed. Everything up to it never changes again: offsets, commits
and versions of the state are files of their own, written before the commit of c; Spark keeps the last 100.
The offsets of the batch after it, where they are written already, belong to the cut: the batch is run again
with the same rows.

Between fragments the cut is consistent when no fragment has read what its producer has not planned. So
consumers are cut before their producers, and of each flow the batches are copied that lie between: those that
are there before the first fragment is cut, and those that are published until the producer is.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weir_placement.model.fragment import FragmentSpec, Input, Output
from weir_placement.model.identity import digest, identity_source
from weir_placement.model.location import FOLDER
from weir_placement.model.operator_form import semantics
from weir_placement.model.waits import waits

from weir_runtime.checkpoint import Checkpoint
from weir_runtime.durable import sync
from weir_runtime.labels import newest_of
from weir_runtime.names import END, NUMBERING, read_json
from weir_runtime.snapshots.manifest import FragmentCut, SnapshotError, SnapshotManifest, checksums

TRIES = 3
"""A file of a cut that Spark or a producer has removed meanwhile is looked for in a new cut."""
VERSION = re.compile(r"\.?(\d+)(?:_[^.]*)?\.(?:delta|snapshot|changelog|zip)(?:\.crc)?")
BATCH = re.compile(r"\.?(\d+)(?:\.crc)?")


class NotYet(SnapshotError):
    """It may be possible a little later."""


class _Moved(Exception):
    """A file is gone that was there a moment ago."""


def take(specs: Sequence[FragmentSpec], about: Mapping[str, Any], folder: Path) -> SnapshotManifest:
    """Writes a snapshot of a query's fragments (in topological order, the last one delivers) to a new folder.
    To `about` it adds the `sources` that its places rest on.

    Durable and complete when it returns. O(bytes of state and of unread batches). Raises SnapshotError.
    """
    if folder.exists():
        raise SnapshotError(f"snapshot {folder}: there is one already; give another name")
    inputs = [item for spec in specs for item in spec.inputs if item.kind == "source"]
    about = {**about, "sources": {item.name: described(item) for item in inputs}}
    _check(specs)
    sink = _sink(specs[-1].output)  # first: a plan that comes meanwhile is one of after it
    for attempt in range(1, TRIES + 1):
        partial = folder.with_name(f".{folder.name}.{about.get('uid', '')}partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            cuts = _copy(specs, partial)
            break
        except _Moved as error:
            if attempt == TRIES:
                raise NotYet(f"snapshot {folder}: {error} {TRIES} times in a row; try again") from None
    if "files" in sink:
        sink["files"].pop(cuts[-1].checkpoint, None)  # its own are told by its cut
    manifest = SnapshotManifest(about, time.time(), cuts, sink, checksums(partial))
    for path in partial.rglob("*"):
        sync(path)
    manifest.write(partial)
    try:
        partial.rename(folder)
    except OSError as error:
        raise SnapshotError(f"snapshot {folder}: there is one already ({error.strerror})") from None
    sync(folder.parent)
    return manifest


def _sink(output: Output) -> dict[str, Any]:
    """As of a `SnapshotManifest`."""
    sink: dict[str, Any] = {"kind": output.kind, "uri": output.uri}
    if output.kind == "files" and output.files.kind == FOLDER:
        sink["files"] = newest_of(path.name for path in Path(output.uri).glob("*.parquet"))
    return sink


def shape(spec: FragmentSpec) -> str:
    """Hash of what state depends on inside of a fragment: operators, executors. Names and places are none."""
    parts = [[semantics(op) for op in spec.operators], list(waits(spec.operators).values())]
    return digest([*parts, max(1, spec.executors)], 16)


def described(item: Input) -> str:
    """What places in a source rest on, whatever the stream is called."""
    parts = (
        [vars(column) for column in item.columns],
        item.event_time,
        item.delay,
        identity_source(item.source),
    )
    return json.dumps(parts, sort_keys=True)


def _check(specs: Sequence[FragmentSpec]) -> None:
    for spec in specs:
        flow = spec.output.flow
        if flow is not None and flow.kind != FOLDER:
            raise SnapshotError(
                f"fragment {spec.name}: its flow is in {flow.address} ({flow.kind}); snapshots are taken of "
                "flows in folders only"
            )


def _copy(specs: Sequence[FragmentSpec], target: Path) -> tuple[FragmentCut, ...]:
    for i, spec in enumerate(specs):
        (target / "fragments" / str(i)).mkdir(parents=True)
        if spec.output.flow is not None:
            _copy_batches(Path(spec.output.flow.address), target / "fragments" / str(i) / "flow", 0)
    cuts: dict[str, FragmentCut] = {}
    for i, spec in reversed(list(enumerate(specs))):
        own = target / "fragments" / str(i)
        cut = cuts[spec.name] = _copy_checkpoint(spec, own)
        if spec.output.flow is not None:
            _finish_flow(Path(spec.output.flow.address), cut, _places(spec, specs, cuts), own / "flow")
    return tuple(cuts[spec.name] for spec in specs)


def _copy_checkpoint(spec: FragmentSpec, target: Path) -> FragmentCut:
    """Up to the last commit, with the offsets of the batch after it where they are there."""
    source = _checkpoint_of(spec)
    checkpoint = Checkpoint(source)
    committed = checkpoint.committed()
    planned = checkpoint.planned()
    if committed < 0:
        raise NotYet(f"fragment {spec.name}: it has committed no batch yet; try again later")
    last = {"offsets": min(planned, committed + 1), "commits": committed}
    try:
        for path in sorted(source.rglob("*")):
            inner = path.relative_to(source)
            if path.is_file() and _belongs(inner, last, committed + 1):
                _copy_file(path, target / "checkpoint" / inner)
        newest = source.with_name(f"{source.name}.newest")
        if newest.exists():
            _copy_file(newest, target / "newest")
    except FileNotFoundError as error:
        raise _Moved(f"fragment {spec.name}: {error.filename} was removed") from None
    copied = Checkpoint(target / "checkpoint")
    if (copied.planned(), copied.committed()) != (last["offsets"], committed):
        raise _Moved(f"fragment {spec.name}: batch {committed} was removed")
    ends = copied.offsets(committed)
    numbering = str((read_json(target / "checkpoint" / NUMBERING) or {}).get("numbering", ""))
    places = {name: end["at"] for name, end in ends.items()}
    return FragmentCut(spec.name, source.name, numbering, last["offsets"], committed, places, shape(spec))


def _checkpoint_of(spec: FragmentSpec) -> Path:
    folders = [file.parent for file in Path(spec.checkpoint).glob(f"*/{NUMBERING}")]
    if len(folders) == 1:
        return folders[0]
    what = "has none yet, or one of a version before format 1" if not folders else f"has {len(folders)}"
    raise (SnapshotError if folders else NotYet)(
        f"fragment {spec.name}: its folder {spec.checkpoint} must have one checkpoint; it {what}"
    )


def _belongs(inner: Path, last: Mapping[str, int], version: int) -> bool:
    """Whether a checkpoint's file is part of the cut; temporary files never are."""
    log = inner.parts[0]
    if log in last:
        match = BATCH.fullmatch(inner.name)
        return match is not None and int(match[1]) <= last[log]
    if log == "state" and "_metadata" not in inner.parts:
        match = VERSION.fullmatch(inner.name)
        return int(match[1]) <= version if match else not inner.name.startswith(".")
    return not inner.name.endswith(".tmp")


def _copy_batches(flow: Path, target: Path, first: int, last: int | None = None) -> None:
    """Batches that are there, by number, and what describes them; those that are gone have been read."""
    target.mkdir(exist_ok=True)
    for path in sorted(flow.glob("[0-9]*.arrow")):
        number, copy = int(path.stem), target / path.name
        if number >= first and (last is None or number <= last) and not copy.exists():
            with suppress(FileNotFoundError):
                _copy_file(path, copy)
    for name in ("stream.json", NUMBERING):
        if (flow / name).exists():
            _copy_file(flow / name, target / name)


def _places(
    producer: FragmentSpec, specs: Sequence[FragmentSpec], cuts: Mapping[str, FragmentCut]
) -> list[int]:
    """The next batch of each reader of a flow."""
    return [
        cuts[reader.name].places[item.name]["next"]
        for reader in specs
        for item in reader.inputs
        if item.flow is not None and producer.output.flow is not None
        if item.flow.address == producer.output.flow.address
    ]


def _finish_flow(flow: Path, cut: FragmentCut, places: Sequence[int], target: Path) -> None:
    """The batches from the slowest reader's place up to the producer's cut, and no others."""
    needed = min(places, default=0)
    _copy_batches(flow, target, needed, cut.planned)
    for path in target.glob("[0-9]*.arrow"):
        if not needed <= int(path.stem) <= cut.planned:
            path.unlink()
    for number in range(needed, cut.committed + 1):
        if not (target / f"{number:010d}.arrow").exists():
            raise _Moved(f"flow {flow}: batch {number} was removed")
    end = read_json(flow / END)
    if end is not None and end["batches"] <= cut.committed + 1:
        _copy_file(flow / END, target / END)


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
