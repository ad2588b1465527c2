"""Reading Spark's own logs in a checkpoint: which batches are planned, which are committed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
