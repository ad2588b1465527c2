"""Where a fragment's batches go that are for users: files, Kafka, the terminal, nowhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.location import STORE

from weir_runtime.compiler import ID
from weir_runtime.faults import reach
from weir_runtime.names import batch_name
from weir_runtime.publish import Fence, put_once, user_rows


class BatchSink(Protocol):
    """Takes batches in order; a batch may come again after a crash, with the same rows."""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes the batch after calling `fence`; the bytes written."""


class NoSink:
    """Counts, for measurements."""

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes of the rows in memory."""
        fence()
        return int(table.nbytes)


class ConsoleSink:
    """JSON lines on standard output; at least once."""

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        self._columns = list(columns)

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The characters written."""
        fence()
        lines = [json.dumps(row, default=str) for row in user_rows(table, self._columns).to_pylist()]
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.write(text)
        sys.stdout.flush()
        return len(text)


class FolderSink:
    """The user's rows as parquet files, exactly once; batches without rows leave no file.

    Args:
        folder: the sink's folder.
        prefix: the plan's hash, so that a changed plan's batches have other names.
        columns: (column, name that readers see), in order.
    """

    def __init__(self, folder: str, prefix: str, epoch: int, columns: list[tuple[str, str]]) -> None:
        self._folder = Path(folder)
        self._prefix = prefix
        self._epoch = epoch
        self._columns = columns
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written."""
        rows = user_rows(table, self._columns)
        final = self._folder / f"{self._prefix}-{batch_name(number, 'parquet')}"
        temporary = self._folder / f".{final.name}.{self._epoch}.{os.getpid()}"
        if rows.num_rows == 0:
            fence()
            return 0
        reach("before-temporary")
        pq.write_table(rows, temporary)
        reach("after-temporary")
        size = temporary.stat().st_size
        put_once(temporary, final, fence)
        return size


class KafkaSink:
    """JSON to a topic, the row id as hexadecimal text in the header `weir-row`; at least once for readers,
    who drop an id that they have seen."""

    def __init__(self, options: dict[str, Any], columns: Sequence[tuple[str, str]]) -> None:
        from kafka import KafkaProducer

        from weir_runtime.kafka_clients import client_settings

        if "topic" not in options:
            raise FragmentError("fragment.output.options.topic: missing; give the topic to write to")
        self._topic = options["topic"]
        self._columns = list(columns)
        self._producer = KafkaProducer(**client_settings(options), acks="all", linger_ms=5)

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Returns when the brokers have all of the batch. Raises when one message could not be written."""
        fence()
        rows = user_rows(table, self._columns).to_pylist()
        sent, size = [], 0
        for row, key in zip(rows, table.column(ID).to_pylist(), strict=True):
            value = json.dumps(row, default=str).encode()
            size += len(value)
            sent.append(self._producer.send(self._topic, value, headers=[("weir-row", key.hex().encode())]))
        self._producer.flush()
        for future in sent:
            future.get(timeout=30)
        return size


def make_sink(spec: FragmentSpec, columns: Sequence[str], plan_hash: str) -> BatchSink:
    """The sink of a stream with these columns. Raises FragmentError for a column that is not
    there, or for a store that cannot be written exactly once."""
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

        return StoreSink(ObjectStore(output.files.address, output.files.options), plan_hash, chosen)
    if output.kind == "files":
        return FolderSink(output.uri, plan_hash, spec.epoch, chosen)
    if output.kind == "kafka":
        return KafkaSink(dict(output.options), chosen)
    return ConsoleSink(chosen) if output.kind == "console" else NoSink()
