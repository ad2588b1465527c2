"""Publishing a batch exactly once: into a temporary file, then under its number by an operation that
fails when the name exists."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from weir_runtime.compiler import TIME
from weir_runtime.faults import reach
from weir_runtime.logs.exchange_log import batch_metadata
from weir_runtime.names import END, PRODUCER, batch_name, read_json, write_whole

Fence = Callable[[], None]
"""Raises Fenced unless this process may publish."""


class Fenced(RuntimeError):
    """The lease belongs to another epoch or holder: nothing may be published."""


def put_once(temporary: Path, final: Path, fence: Fence) -> bool:
    """Publishes `temporary` as `final`; False when that name was there (a replay): the file is dropped."""
    reach("before-publish")
    try:
        fence()
        os.link(temporary, final)
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
        reach("after-publish")


class ExchangeWriter(ABC):
    """The writing side of an exchange: batches in order, each published once for all readers."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether the stream has ended, in this life of its producer or one before."""

    @abstractmethod
    def describe(self, description: dict[str, object]) -> None:
        """Says what the stream is, before its first batch: readers wait for it."""

    @abstractmethod
    def announce(self, where: Mapping[str, object]) -> None:
        """Says where this process, which writes from now on, answers: `host`, `port`."""

    @abstractmethod
    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """Publishes batch `number`; the bytes written. An empty batch too: it carries the clock."""

    @abstractmethod
    def end(self, batches: int, fence: Fence) -> None:
        """No batch from `batches` on will ever come."""

    @abstractmethod
    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs; how many batches."""


class FolderWriter(ExchangeWriter):
    """An exchange of files.

    Args:
        folder: the exchange.
        epoch: rides in every file.
        consumers: fragments whose positions hold batches back from deletion; empty: nothing is deleted.
        keep: event time [us] kept below the slowest consumer.
    """

    def __init__(self, folder: str, epoch: int, consumers: tuple[str, ...] = (), keep: int = 0) -> None:
        self._folder = Path(folder)
        self._epoch = epoch
        self._consumers = consumers
        self._keep = keep
        self._oldest: int | None = None  # the first batch that is still there
        self._folder.mkdir(parents=True, exist_ok=True)

    def ended(self) -> bool:
        """By its file END."""
        return (self._folder / END).exists()

    def describe(self, description: dict[str, object]) -> None:
        """Writes `stream.json`."""
        write_whole(self._folder / "stream.json", json.dumps(description, indent=1))

    def announce(self, where: Mapping[str, object]) -> None:
        """Writes `producer.json`."""
        write_whole(self._folder / PRODUCER, json.dumps(where))

    def write(self, table: pa.Table, number: int, clock: int, fence: Fence) -> int:
        """The bytes written."""
        schema = table.schema.with_metadata(described(table, self._epoch, clock))
        final = self._batch(number)
        temporary = self._folder / f".{final.name}.{self._epoch}.{os.getpid()}"
        reach("before-temporary")
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, schema) as writer:
            writer.write_table(table.cast(schema))
        reach("after-temporary")
        size = temporary.stat().st_size
        put_once(temporary, final, fence)
        return size

    def end(self, batches: int, fence: Fence) -> None:
        """Writes END."""
        fence()
        write_whole(self._folder / END, json.dumps({"batches": batches}))

    def delete_consumed(self) -> int:
        """Deletes, oldest first, what every consumer has committed and no replay needs; how many batches."""
        positions = [read_json(self._folder / "consumers" / f"{name}.json") for name in self._consumers]
        if not positions or any(position is None for position in positions):
            return 0
        slowest = min(position["next"] for position in positions if position is not None)
        if self._oldest is None:
            numbers = (int(path.stem) for path in self._folder.glob("[0-9]*.arrow"))
            self._oldest = min(numbers, default=0)
        first = self._oldest
        if first >= slowest:
            return 0
        horizon = int(batch_metadata(self._batch(slowest - 1))["clock"]) - self._keep
        while self._oldest < slowest:
            path = self._batch(self._oldest)
            if self._keep and newest(batch_metadata(path)) >= horizon:
                break
            path.unlink(missing_ok=True)
            self._oldest += 1
        return self._oldest - first

    def _batch(self, number: int) -> Path:
        return self._folder / batch_name(number, "arrow")


def described(table: pa.Table, epoch: int, clock: int) -> dict[str, str]:
    """What a published batch says of itself: `epoch`, `rows`, `clock`, and with rows `min`, `max` [us]."""
    told = {"epoch": epoch, "rows": table.num_rows, "clock": clock}
    if table.num_rows:
        bounds = pc.min_max(table.column(TIME).cast(pa.int64()))
        told |= {"min": bounds["min"].as_py(), "max": bounds["max"].as_py()}
    return {key: str(value) for key, value in told.items()}


def newest(told: Mapping[str, str]) -> int:
    """[us] The latest event time that a batch speaks of, by what it says of itself."""
    return max(int(told["clock"]), int(told.get("max", 0)))


class FilesSink:
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


def user_rows(table: pa.Table, columns: list[tuple[str, str]]) -> pa.Table:
    """What the user sees of a batch: no hidden columns."""
    return pa.table([table.column(old) for old, _ in columns], names=[new for _, new in columns])
