"""A sink of files on an object store."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from weir_runtime.faults import reach
from weir_runtime.names import batch_name
from weir_runtime.publish import Fence, user_rows
from weir_runtime.store import ObjectStore


class StoreSink:
    """The user's rows as parquet objects, exactly once; batches without rows leave none.

    Args:
        store: the sink.
        prefix, columns: as of `FilesSink`.
    """

    def __init__(self, store: ObjectStore, prefix: str, columns: list[tuple[str, str]]) -> None:
        store.quick().probe("sink.files.uri")
        self._store = store
        self._prefix = prefix
        self._columns = columns

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written."""
        rows = user_rows(table, self._columns)
        if rows.num_rows == 0:
            fence()
            return 0
        reach("before-temporary")
        out = pa.BufferOutputStream()
        pq.write_table(rows, out)
        body = bytes(out.getvalue())
        reach("after-temporary")
        reach("before-publish")
        fence()
        self._store.create(f"{self._prefix}-{batch_name(number, 'parquet')}", body)
        reach("after-publish")
        return len(body)
