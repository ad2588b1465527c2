"""Rows go to Spark some at a time, however large the batch is in which they were published."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pytest
from weir_runtime import source
from weir_runtime.chunks import in_chunks, table_in_chunks
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.names import batch_name

from tests.runtime.support import rows_of

SCHEMA = pa.schema([("k", pa.int64()), ("wide", pa.string())])


def batch_of(rows: int, width: int) -> pa.RecordBatch:
    return pa.record_batch({"k": range(rows), "wide": ["w" * width] * rows}, schema=SCHEMA)


@pytest.mark.parametrize(("rows", "width"), [(0, 0), (1, 5_000), (7, 0), (1_000, 10), (100, 900), (3, 5_000)])
def test_chunks_are_the_batch(rows: int, width: int) -> None:
    batch = batch_of(rows, width)
    chunks = list(in_chunks(batch, 4_000))
    assert pa.Table.from_batches(chunks) == pa.Table.from_batches([batch])
    assert all(chunk.nbytes <= 4_000 or chunk.num_rows == 1 for chunk in chunks)


def test_wide_rows_that_come_together_are_parted_too() -> None:
    """By the mean row of the batch they would be one chunk of many times the bound."""
    batches = [batch_of(10_000, 1), batch_of(10, 3_000), batch_of(0, 0), batch_of(1, 1)]
    table = pa.Table.from_batches(batches).combine_chunks()
    chunks = list(table_in_chunks(table, 4_000))
    assert pa.Table.from_batches(chunks) == table
    assert all(chunk.nbytes <= 4_000 for chunk in chunks)
    assert list(table_in_chunks(table.slice(0, 0), 4_000)) == []


def test_a_large_batch_of_an_exchange_is_handed_on_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", 4_000)
    batch = batch_of(100, 900)
    with pa.ipc.new_file(tmp_path / batch_name(0, "arrow"), SCHEMA) as file:
        file.write_batch(batch)
    read = rows_of(FolderLog(str(tmp_path), SCHEMA, "reader"), {"next": 0}, {"next": 1})
    assert len(read) > 20
    assert pa.Table.from_batches(read) == pa.Table.from_batches([batch])
