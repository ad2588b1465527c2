"""Rows that no query can read, told while `weir run` runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
from weir_runtime.logs.dead_letters import FOLDER, UNIT, in_words


def bad_rows(run_folder: Path) -> Iterator[str]:
    """The first dead letter of each reader of a stream in a run folder, and where the others are. Those of
    streams that name another `deadLetter` are not looked at.

    Complexity: one listing of each reader's folder, one file of it read.
    """
    for folder in sorted(run_folder.glob(f"late/*/*/*/{FOLDER}")):
        files = sorted(folder.glob("*.parquet"))
        if files:
            letters = pq.ParquetFile(files[0]).read()
            letter = letters.slice(0, 1).to_pylist()[0]
            unit = (letters.schema.metadata or {}).get(UNIT.encode(), b"row").decode()
            where = f"{letter['source']}{in_words(letter['offset'], unit)}"
            yield f"{where}: {letter['reason']}; rows that cannot be read go to {folder}"
