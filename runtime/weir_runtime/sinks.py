"""Where a fragment's batches go that are for users: files, Kafka, the terminal, nowhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.location import STORE

from weir_runtime.bodies import write_parquet
from weir_runtime.checkpoint import RESTORED
from weir_runtime.chunks import PYTHON_CHUNK, table_in_chunks
from weir_runtime.durable import drop_unfinished
from weir_runtime.json_values import json_values
from weir_runtime.labels import Label, firsts
from weir_runtime.names import batch_name, read_json, write_whole
from weir_runtime.publish import BatchSink, Fence, put_once, user_rows

NAMES = ".weir-queries.json"
"""A file of this name in a folder sink, where a query was restored under another name: all its names."""


class NoSink(BatchSink):
    """Counts, for measurements."""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes of the rows in memory."""
        fence()
        return int(table.nbytes)


class ConsoleSink(BatchSink):
    """JSON lines on standard output; at least once."""

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        self._columns = list(columns)

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The characters written."""
        fence()
        size = 0
        for chunk in table_in_chunks(table, PYTHON_CHUNK):
            rows = json_values(user_rows(pa.Table.from_batches([chunk]), self._columns))
            size += sys.stdout.write("".join(f"{json.dumps(row)}\n" for row in rows))
        sys.stdout.flush()
        return size


class FolderSink(BatchSink):
    """The user's rows as parquet files, exactly once; batches without rows leave no file.

    Args:
        folder: the sink's folder.
        spec: of the fragment that writes it.
        prefix: the checkpoint's name, so that a changed plan's batches have other names.
        columns: (column, name that readers see), in order.
    """

    knows_cuts = True

    def __init__(self, folder: str, spec: FragmentSpec, prefix: str, columns: list[tuple[str, str]]) -> None:
        self._folder = Path(folder)
        self._label = Label.of(spec)
        self._prefix = prefix
        self._restored = (Path(spec.checkpoint) / RESTORED).exists()
        self._columns = columns
        self._folder.mkdir(parents=True, exist_ok=True)

    def claim(self, numbering: str, fresh: bool) -> None:
        """Of a fresh checkpoint the first file of each earlier plan is looked at; of one that came from a
        snapshot, by whom its own was begun: the sink notes that both names are this query's."""
        all_names = frozenset(read_json(self._folder / NAMES) or ())
        names = all_names if self._label.query in all_names else frozenset()
        self._label = replace(self._label, numbering=numbering, names=names)
        listed = (
            firsts(path.name for path in self._folder.glob("*.parquet")) if fresh or self._restored else []
        )
        first = {name: self._metadata(name) for name in listed if fresh or name.startswith(self._prefix)}
        if fresh:
            self._label.check_all(first, str(self._folder), self._prefix)
            return
        for metadata in first.values():
            owner = metadata.get("weir.query", "")
            if metadata.get("weir.numbering") == numbering and not self._label.is_mine(owner):
                write_whole(self._folder / NAMES, json.dumps(sorted({*all_names, owner, self._label.query})))

    def drop_unfinished(self) -> None:
        """Of this plan's files: those of another one may be written now."""
        drop_unfinished(self._folder, f"{self._prefix}-[0-9]*.parquet")

    def beyond(self, planned: int) -> str:
        """By the names of this plan's files."""
        first = f"{self._prefix}-{batch_name(planned + 1, 'parquet')}"
        later = (path.name for path in self._folder.glob(f"{self._prefix}-*.parquet") if path.name >= first)
        newest = max(later, default="")
        return newest and f"sink {self._folder / newest}"

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written."""
        rows = user_rows(table, self._columns)
        final = self._folder / f"{self._prefix}-{batch_name(number, 'parquet')}"
        if rows.num_rows == 0:
            fence()
            return 0
        rows = rows.replace_schema_metadata(self._label.metadata())
        size, is_new = put_once(final, lambda temporary: write_parquet(temporary, rows), fence)
        if not is_new:
            self._label.check(self._metadata(final.name), str(final), same_plan=True)
        return size

    def _metadata(self, name: str) -> dict[str, str]:
        metadata = pq.read_schema(self._folder / name).metadata or {}
        return {key.decode(): value.decode() for key, value in metadata.items()}


def make_sink(spec: FragmentSpec, columns: Sequence[str], prefix: str) -> BatchSink:
    """The sink of a stream with these columns, whose files begin with `prefix`.

    Raises:
        FragmentError: a column that is not there, or a store that cannot be written exactly once.
    """
    output = spec.output
    chosen = [(c.column, c.name) for c in output.columns] or [(name, name) for name in columns]
    for i, (name, _) in enumerate(chosen):
        if name not in columns:
            raise FragmentError(
                f"fragment.output.columns[{i}]: no column {name!r}; there are {', '.join(columns)}"
            )
    if output.kind == "files" and output.files.kind == STORE:
        from weir_runtime.store import ObjectStore
        from weir_runtime.store_sink import StoreSink

        return StoreSink(ObjectStore(output.files.address, output.files.options), spec, prefix, chosen)
    if output.kind == "files":
        return FolderSink(output.uri, spec, prefix, chosen)
    if output.kind == "kafka":
        from weir_runtime.kafka_sinks import kafka_sink

        return kafka_sink(spec, prefix, chosen)
    return ConsoleSink(chosen) if output.kind == "console" else NoSink()
