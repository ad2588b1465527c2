"""Rows that no query can read, told while `weir run` runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from weir_runtime.logs.dead_letters import FOLDER


def bad_rows(run_folder: Path) -> Iterator[str]:
    """The first dead letter of each reader of a stream in a run folder, and where the others are. Those of
    streams that name another `deadLetter` are not looked at.

    Complexity: one listing of each reader's folder, one file of it read.
    """
    for folder in sorted(run_folder.glob(f"late/*/*/*/{FOLDER}")):
        files = sorted(folder.glob("*.parquet"))
        if files:
            letter = pq.ParquetFile(files[0]).read().slice(0, 1).to_pylist()[0]
            row = "" if letter["offset"] is None else f", row {letter['offset']}"
            yield f"{letter['source']}{row}: {letter['reason']}; rows that cannot be read go to {folder}"
