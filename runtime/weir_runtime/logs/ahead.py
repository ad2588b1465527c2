"""Rows that were fetched for their times, left for whoever reads the batch: a link carries them once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from weir_runtime.logs.batches import write_batch

MOST = 64 * 2**20
"""[bytes] of one batch; what is more is fetched again."""


class Ahead:
    """The latest batch's rows in a folder that driver and tasks have, a file for each partition's range.

    It holds copies only: a reader in another life, or of an older batch, finds nothing and asks the log.

    Args:
        folder: of one input; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._left = 0

    def begin(self) -> None:
        """Another batch: what is left of the one before has been read, for one follows the other."""
        self._left = MOST
        for path in self._folder.iterdir() if self._folder and self._folder.exists() else ():
            path.unlink(missing_ok=True)

    def put(self, name: str, table: pa.Table) -> None:
        """Keeps the rows, unless the batch's others have taken the room."""
        if self._folder and table.nbytes <= self._left:
            self._left -= table.nbytes
            write_batch(self._folder / name, table)

    def get(self, name: str) -> pa.Table | None:
        """The rows, not copied; None when they are not here."""
        if self._folder is None:
            return None
        try:
            with pa.memory_map(str(self._folder / name)) as file:
                return pa.ipc.open_file(file).read_all()
        except FileNotFoundError:
            return None
