"""A checkpoint: Spark's own logs of planned and committed batches, and which numbering its batches have."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from weir_placement.model.fragment import FragmentError

from weir_runtime.durable import sync
from weir_runtime.mounts import STALE
from weir_runtime.names import NUMBERING, read_json, write_whole

FORMAT = 1
"""Of what a fragment keeps beside Spark's files (docs/runtime.md, "Formats"). 0: no `numbering.json`."""

OWN = "own"
"""In `numbering.json`, of `ids`: those of its rows in a topic are its own. Left out by earlier versions."""

RESTORED = "restored.json"
"""A file of this name in a fragment's checkpoint folder: it came from a snapshot, and keeps the name that it
had, with which its files in a sink begin."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's folder."""

    folder: Path

    def planned(self) -> int:
        """The last batch whose offsets are written; -1: none."""
        return _newest(self.folder / "offsets")

    def shows_all(self, deadline: float) -> bool:
        """Whether this machine sees every batch that another one has planned. A network file system may show
        names as they were a while ago; whether a name can be made anew, its server decides. With the holder's
        lease only. Left behind by a kill in between, the empty file is dropped as a torn one.

        Args:
            deadline: time.monotonic() by which it must be so.

        Raises:
            FragmentError: it is not. Spark would plan that batch again, with other rows under its number.
        """
        offsets, batch = self.folder / "offsets", self.planned() + 1
        try:
            offsets.mkdir(parents=True, exist_ok=True)
            os.close(os.open(offsets / str(batch), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            if time.monotonic() < deadline:
                return False
            raise FragmentError(
                f"checkpoint {self.folder}: batch {batch} is planned, but this machine does not see its "
                f"offsets, {STALE:.0f} s after it got the lease: mount the volume so that names made "
                "elsewhere are seen sooner (of NFS: lookupcache=none, actimeo=1)"
            ) from None
        (offsets / str(batch)).unlink()
        return True

    def committed(self) -> int:
        """The last batch that is committed; -1: none."""
        return _newest(self.folder / "commits")

    def numbering(self) -> str:
        """Names the numbering of this checkpoint's batches: batch 7 of another one has other rows.

        Made with the checkpoint, by the holder of the lease. "" for a checkpoint of format 0.

        Raises:
            FragmentError: a newer Weir or a newer Spark has written this checkpoint.
        """
        file, spark = self.folder / NUMBERING, pyspark.__version__
        result = read_json(file)
        if result is None:
            if self.planned() >= 0:
                return ""
            numbering = uuid.uuid4().hex[:16]
            result = {"format": FORMAT, "numbering": numbering, "spark": spark, "ids": OWN}
            write_whole(file, json.dumps(result))
        if result["format"] > FORMAT:
            raise FragmentError(
                f"checkpoint {self.folder}: format {result['format']}, written by a newer Weir; this one "
                f"reads formats up to {FORMAT}"
            )
        if _release(result["spark"]) > _release(spark):
            raise FragmentError(
                f"checkpoint {self.folder}: written by Spark {result['spark']}; Spark {spark} may read its "
                "state wrongly: continue with the newer one"
            )
        if result["spark"] != spark:
            write_whole(file, json.dumps({**result, "spark": spark}))
        return str(result["numbering"])

    def has_own_ids(self) -> bool:
        """Whether its rows have ids in a topic that no other plan's rows have. Decided with the numbering:
        what an earlier version has begun goes on with ids of the input alone, so that a batch that is run
        again has those that it had."""
        return (read_json(self.folder / NUMBERING) or {}).get("ids") == OWN

    def drop_unfinished(self) -> None:
        """Takes away what a process that was killed or frozen has half written. With the holder's lease only:
        an older process that wakes up finds its file gone, and its query ends before it plans or commits a
        batch. Spark itself refuses to start when all that is there is half of the first batch's offsets."""
        for name in ("offsets", "commits"):
            for path in (self.folder / name).glob(".*.tmp"):
                path.unlink(missing_ok=True)
        self._drop_torn()

    def sync(self, batch: int, numbering: str) -> None:
        """Has on the disk what a batch was made from and its state, which Spark leaves to the kernel. Called
        before the batch is published: with other offsets its number would have other rows.

        Raises:
            RuntimeError: this is not the checkpoint that began with `numbering`. Spark makes the folder again
                when its volume is gone, and what it writes there is not in the volume that comes back.
        """
        present = read_json(self.folder / NUMBERING) or {}
        if present.get("numbering", "") != numbering:
            raise RuntimeError(
                f"checkpoint {self.folder}: gone, or not the one that this process began with (numbering "
                f"{present.get('numbering')}, not {numbering}). Batch {batch} is not published"
            )
        logs = (f"offsets/{batch}", f"commits/{batch - 1}", "metadata")
        files = [path for name in logs for path in _with_checksum(self.folder / name)]
        files += _state_files(self.folder / "state", batch + 1)
        for path in files:
            sync(path)
        for folder in {path.parent for path in files}:
            sync(folder)

    def _drop_torn(self) -> None:
        """Of the last files that a loss of power may have emptied: a batch whose offsets are not on the disk
        is not published, and one whose commit is not is run again."""
        for name, last in (("offsets", self.planned()), ("commits", self.committed())):
            path = self.folder / name / str(last)
            if last >= 0 and not _is_whole(path):
                for file in _with_checksum(path):
                    file.unlink()

    def watermark_ms(self, batch: int) -> int:
        """The watermark of a batch: written before it runs, so it is the same at every replay."""
        return int(json.loads(self._lines(batch)[1])["batchWatermarkMs"])

    def offsets(self, batch: int) -> dict[str, dict[str, Any]]:
        """The end offset (source.py) of each input by its name; empty before the first batch."""
        if batch < 0:
            return {}
        ends = [json.loads(line) for line in self._lines(batch)[2:] if line != "-"]
        return {end["input"]: end for end in ends}

    def _lines(self, batch: int) -> list[str]:
        return (self.folder / "offsets" / str(batch)).read_text().splitlines()


def restored_name(folder: Path, plan: str) -> str | None:
    """The name of a checkpoint in `folder` that came from a snapshot, for the plan of this hash; None: there
    is none, or it was another plan's."""
    raw = read_json(folder / RESTORED)
    if raw is None:
        return None
    if "plan" not in raw:
        raw = {**raw, "plan": plan}
        write_whole(folder / RESTORED, json.dumps(raw))
    return str(raw["checkpoint"]) if raw["plan"] == plan else None


def _state_files(state: Path, version: int) -> list[Path]:
    """The files of one version of every state store, and what describes the stores: one walk of the tree."""
    delta = re.compile(rf"\.?{version}\.delta")
    return [
        Path(folder, name)
        for folder, _, names in os.walk(state)
        for name in (names if f"{os.sep}_metadata" in folder else filter(delta.match, names))
    ]


def _newest(folder: Path) -> int:
    if not folder.exists():
        return -1
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=-1)


def _release(version: str) -> tuple[int, ...]:
    """4.2.0 as (4, 2): Spark reads the checkpoints of earlier feature releases."""
    return tuple(int(part) for part in version.split(".")[:2])


def _with_checksum(path: Path) -> list[Path]:
    """A file of Spark's and the one that Hadoop keeps beside it, as far as they are there."""
    return [file for file in (path, path.with_name(f".{path.name}.crc")) if file.exists()]


def _is_whole(path: Path) -> bool:
    """Whether one of Spark's logs' files is as it was written: a version, then JSON or `-` on each line."""
    version, *lines = path.read_text().splitlines() or [""]
    try:
        return version.startswith("v") and bool([json.loads(line) for line in lines if line != "-"])
    except json.JSONDecodeError:
        return False
