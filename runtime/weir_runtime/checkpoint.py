"""A checkpoint: Spark's own logs of planned and committed batches, and which numbering its batches have."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from weir_placement.model.fragment import FragmentError

from weir_runtime.names import NUMBERING, read_json, write_whole

FORMAT = 1
"""Of what a fragment keeps beside Spark's files (docs/runtime.md, "Formats"). 0: no `numbering.json`."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's folder."""

    folder: Path

    def planned(self) -> int:
        """The last batch whose offsets are written; -1: none."""
        return _newest(self.folder / "offsets")

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
            result = {"format": FORMAT, "numbering": uuid.uuid4().hex[:16], "spark": spark}
            write_whole(file, json.dumps(result))
        if result["format"] > FORMAT:
            raise FragmentError(
                f"checkpoint {self.folder}: of format {result['format']}, written by a newer Weir; this one "
                f"reads formats up to {FORMAT}"
            )
        if _release(result["spark"]) > _release(spark):
            raise FragmentError(
                f"checkpoint {self.folder}: written by Spark {result['spark']}; Spark {spark} may read its "
                "state wrongly: go on with the newer one"
            )
        if result["spark"] != spark:
            write_whole(file, json.dumps({**result, "spark": spark}))
        return str(result["numbering"])

    def drop_unfinished(self) -> None:
        """Takes away what a process that was killed or frozen has half written. With the holder's lease only:
        an older process that wakes up finds its file gone, and its query ends before it plans or commits a
        batch. Spark itself refuses to start when all that is there is half of the first batch's offsets."""
        for name in ("offsets", "commits"):
            for path in (self.folder / name).glob(".*.tmp"):
                path.unlink(missing_ok=True)

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


def _newest(folder: Path) -> int:
    if not folder.exists():
        return -1
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=-1)


def _release(version: str) -> tuple[int, ...]:
    """4.2.0 as (4, 2): Spark reads the checkpoints of earlier feature releases."""
    return tuple(int(part) for part in version.split(".")[:2])
