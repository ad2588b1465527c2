"""Readers of a log never list its folder: with 20,000 files that takes longer than a batch, and on a shared
file system it may leave out what is there. The kernel itself says whether the folder was opened."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from weir_placement.model.location import Location
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.logs.log import Log
from weir_runtime.names import batch_name
from weir_runtime.sources.files import FileLog

IN_OPEN, IN_ISDIR = 0x20, 0x40000000  # of <sys/inotify.h>
SCHEMA = pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us"))])
BATCHES = 5


@contextmanager
def watched(folder: Path) -> Iterator[Callable[[], tuple[int, int]]]:
    """How often the folder, and files in it, were opened since then."""
    libc = ctypes.CDLL(None, use_errno=True)
    watcher = libc.inotify_init1(os.O_NONBLOCK)
    assert watcher >= 0, os.strerror(ctypes.get_errno())
    assert libc.inotify_add_watch(watcher, bytes(folder), IN_OPEN) >= 0, os.strerror(ctypes.get_errno())

    def opened() -> tuple[int, int]:
        listings = files = 0
        with suppress(BlockingIOError):
            while events := os.read(watcher, 1 << 16):
                while events:
                    _, mask, _, length = struct.unpack("iIII", events[:16])
                    listings += bool(mask & IN_ISDIR and not length)
                    files += not mask & IN_ISDIR
                    events = events[16 + length :]
        return listings, files

    try:
        yield opened
    finally:
        os.close(watcher)


def put(folder: Path, form: str) -> None:
    """A finished log of some batches of one row."""
    folder.mkdir()
    for number in range(BATCHES):
        table = pa.table({"v": [number], "ts": pa.array([number + 1], pa.timestamp("us"))}, schema=SCHEMA)
        path = folder / batch_name(number, form)
        if form == "parquet":
            pq.write_table(table, path)
        elif form == "csv":
            pyarrow.csv.write_csv(table, path)
        elif form == "json":
            path.write_text(f'{{"v": {number}, "ts": "1970-01-01 00:00:00.00000{number + 1}"}}\n')
        else:
            schema = SCHEMA.with_metadata({"clock": str(number + 1)})
            with pa.ipc.new_file(str(path), schema) as writer:
                writer.write_table(table.replace_schema_metadata(schema.metadata))


def read(log: Log) -> list[int]:
    """Everything, as a reader does it: two batches at a time."""
    values: list[int] = []
    place, clock = log.start(), 0
    while (ahead := log.advance(place, clock, 2)).place != place:
        values += [v for batch in log.read(place, ahead.place) for v in batch.column("v").to_pylist()]
        log.committed(ahead.place)
        log.backlog(ahead.place)
        place, clock = ahead.place, ahead.clock
    return values


def test_the_watch_sees_a_listing(tmp_path: Path) -> None:
    put(tmp_path / "log", "parquet")
    with watched(tmp_path / "log") as opened:
        assert opened() == (0, 0)
        assert len(list((tmp_path / "log").iterdir())) == BATCHES
        assert opened()[0] == 1


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "json"])
def test_a_source_is_read_without_a_listing(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "log"
    put(folder, form)
    log = FileLog(
        Location("folder", str(folder)), form, SCHEMA, "ts", 0, str(tmp_path / "late"), start=1, after=2
    )
    with watched(folder) as opened:
        assert read(log) == [2, 3, 4]
        listings, files = opened()
    assert listings == 0
    assert files >= BATCHES - 1


def test_an_exchange_is_read_without_a_listing(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    put(folder, "arrow")
    (folder / "consumers").mkdir()
    with watched(folder) as opened:
        assert read(FolderLog(str(folder), SCHEMA, "reader")) == list(range(BATCHES))
        listings, files = opened()
    assert listings == 0
    assert files >= BATCHES
