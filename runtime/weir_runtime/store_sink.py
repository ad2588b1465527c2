"""A sink of files on an object store."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from weir_placement.model.fragment import FragmentSpec

from weir_runtime.bodies import write_parquet
from weir_runtime.labels import Label, firsts
from weir_runtime.names import batch_name
from weir_runtime.publish import BatchSink, Fence, user_rows
from weir_runtime.store import ObjectStore
from weir_runtime.store_publish import StorePublisher


class StoreSink(BatchSink):
    """The user's rows as parquet objects, exactly once; batches without rows leave none.

    Args:
        store: the sink.
        spec, prefix, columns: as of `FolderSink`.
    """

    knows_cuts = True

    def __init__(
        self, store: ObjectStore, spec: FragmentSpec, prefix: str, columns: list[tuple[str, str]]
    ) -> None:
        self._store = store
        self._publisher = self._sending = StorePublisher(store)
        self._label = Label.of(spec)
        self._prefix = prefix
        self._columns = columns

    def claim(self, numbering: str, fresh: bool) -> None:
        """Of a fresh checkpoint the first object of each earlier plan is looked at."""
        self._store.quick().probe("sink.files.uri")
        self._label = replace(self._label, numbering=numbering)
        names = firsts(self._store.names()) if fresh else ()
        self._label.check_all({name: self._about(name) for name in names}, self._store.uri, self._prefix)

    def beyond(self, planned: int) -> str:
        """By the first name of this plan's objects behind the planned ones."""
        last = batch_name(planned, "parquet") if planned >= 0 else ""
        name = next(self._store.names(after=f"{self._prefix}-{last}"), "")
        return f"sink {self._store.uri}/{name}" if name.startswith(f"{self._prefix}-") else ""

    def _about(self, name: str) -> dict[str, str]:
        return {key.replace("-", "."): value for key, value in (self._store.about(name) or {}).items()}

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written."""
        rows = user_rows(table, self._columns)
        if rows.num_rows == 0:
            fence()
            return 0
        labels = self._label.metadata()
        rows = rows.replace_schema_metadata(labels)
        name = f"{self._prefix}-{batch_name(number, 'parquet')}"
        about = {key.replace(".", "-"): value for key, value in labels.items()}
        size, is_new = self._publisher.put_once(name, lambda file: write_parquet(file, rows), about, fence)
        if not is_new:
            self._label.check(self._about(name), f"{self._store.uri}/{name}", same_plan=True)
        return size
