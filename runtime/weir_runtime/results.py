"""The rows that a batch gives: written by the tasks that make them, some at a time, and mapped into memory
where they are published. Nobody has a whole batch in its heap, however many rows a join makes of a few."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

SMALL = 8 * 2**20
"""[bytes]"""


class Results:
    """Of one query's batches, each collected once.

    Leaving files costs some 45 ms of CPU a batch, so one that follows a small one goes through Spark's heap.
    Should it not fit, the process ends; the next life begins with files, so the batch that has to be run
    again fits.

    Args:
        folder: for the files of one batch at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._small = False

    def collect(self, frame: DataFrame) -> pa.Table:
        """All rows of a batch's frame; its plan is run once. The table is good until the next one."""
        table = frame.toArrow() if self._small else self._from_files(frame)
        self._small = table.nbytes < SMALL
        return table

    def _from_files(self, frame: DataFrame) -> pa.Table:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)
        schema = to_arrow_schema(frame.schema, timezone="UTC")
        plain = frame.toDF(*(f"c{i}" for i in range(len(schema))))  # Spark would take `a.k` for a field of a
        written = plain.mapInArrow(_writer(str(self._folder)), "path string").toArrow()
        tables = [_mapped(path) for path in sorted(written.column("path").to_pylist())]
        typed = [table.rename_columns(schema.names).cast(schema) for table in tables]
        return pa.concat_tables([schema.empty_table(), *typed])


def _mapped(path: str) -> pa.Table:
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).read_all()


def _writer(folder: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with its rows: it leaves a file, if there are any, and gives its path."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = f"{folder}/{TaskContext.get().taskAttemptId():020d}.arrow"  # type: ignore[union-attr]
        writer = None
        for batch in batches:
            if batch.num_rows:
                writer = writer or pa.ipc.new_file(path, batch.schema)
                writer.write_batch(batch)
        if writer:
            writer.close()
            yield pa.RecordBatch.from_pydict({"path": [path]})

    return write
