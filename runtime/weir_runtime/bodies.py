"""Bodies of objects in files: mapped into memory, so nobody has one in its heap. The files have no name, so
they are gone with whoever holds them, also where it is killed."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable
from typing import IO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

SLICE = 8 * 2**20
"""[bytes] of rows that are compressed together: who writes and who reads has them in its heap."""

ROW_GROUP = 64 * 2**20
"""[bytes] of rows that a row group of Parquet has at most."""
MOST_ROWS = 2**20
"""Rows likewise."""


def on_disk(write: Callable[[IO[bytes]], object]) -> bytes | mmap.mmap:
    """What `write` writes to the file that it is given, which lies below TMPDIR. Raises OSError."""
    with tempfile.TemporaryFile() as file:
        write(file)
        file.flush()
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if file.tell() else b""


def write_compressed(file: IO[bytes], table: pa.Table) -> None:
    """As an Arrow file compressed by LZ4, some rows at a time."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=_rows_in(SLICE, table))


def write_parquet(file: object, table: pa.Table) -> None:
    """As Parquet into a file or to a path, in row groups that are bounded by bytes too."""
    pq.write_table(table, file, row_group_size=min(MOST_ROWS, _rows_in(ROW_GROUP, table)))


def _rows_in(size: int, table: pa.Table) -> int:
    """How many of a table's rows have so many bytes; at least one."""
    width = max(1.0, table.nbytes / max(1, table.num_rows))
    return max(1, int(size / width))
