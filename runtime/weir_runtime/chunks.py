"""Rows some at a time: however many a batch has, nobody holds all of them at once in another form."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

CHUNK = 8 * 2**20
"""[bytes] of rows that are handed on at once."""

PYTHON_CHUNK = 2**20
"""[bytes] of rows that become values of Python at once: narrow ones take some thirty times as much then."""


def in_chunks(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The same rows, at most `most` bytes at a time if a row is no larger, not copied; of an empty batch
    itself. Parts are of equally many rows, one with wider rows is parted again."""
    count = -(-batch.nbytes // most)
    if count <= 1 or batch.num_rows <= 1:
        yield batch
        return
    rows = -(-batch.num_rows // count)
    for at in range(0, batch.num_rows, rows):
        yield from in_chunks(batch.slice(at, rows), most)


def table_in_chunks(table: pa.Table, most: int) -> Iterator[pa.RecordBatch]:
    """As `in_chunks`; nothing of a table without rows."""
    for batch in table.to_batches():
        if batch.num_rows:
            yield from in_chunks(batch, most)
