"""What one process does with a large batch, in a heap that has no room for it. Files it may map.

python -m tests.store.bounded WHAT URI OPTIONS FOLDER
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
from weir_placement.model.location import Location
from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter
from weir_runtime.sources.files import FileLog
from weir_runtime.store import ObjectStore
from weir_runtime.store_sink import StoreSink

from tests.runtime.flows import SCHEMA, free
from tests.runtime.store_file_cases import SPEC

ROWS, WIDTH, TIMES = 48, 2**20, 1_700_000_000_000_000
"""48 MiB that cannot be compressed."""
HEAP = 32 * 2**20
"""[bytes] that it may have in its heap on top of what it begins with."""
WIDE = SCHEMA.append(pa.field("wide", pa.binary()))


def write_small(store: ObjectStore, folder: Path) -> object:
    """Of each kind one, as a test that kills needs them."""
    table = large_batch(folder / "batch", 2)
    StoreWriter(store, 1).write(table, 0, 0, free)
    return StoreSink(store, SPEC, "p", [("v", "v"), ("wide", "wide")]).write(table, 0, 0, free)


def large_batch(path: Path, rows: int = ROWS) -> pa.Table:
    """As the tasks of a batch leave it: in a file, mapped."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, WIDE) as out:
        for row in range(rows):
            columns = [[row], pa.array([TIMES + row], pa.int64()), [os.urandom(WIDTH)]]
            out.write_table(pa.table(columns, names=WIDE.names).cast(WIDE))
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def write_flow(store: ObjectStore, folder: Path) -> object:
    table = large_batch(folder / "batch")
    begin()
    return StoreWriter(store, 1).write(table, 0, 0, free)


def write_sink(store: ObjectStore, folder: Path) -> object:
    table = large_batch(folder / "batch")
    begin()
    return StoreSink(store, SPEC, "p", [("v", "v"), ("wide", "wide")]).write(table, 0, 0, free)


def read_flow(store: ObjectStore, folder: Path) -> object:
    StoreWriter(store, 1).write(large_batch(folder / "batch"), 0, 0, free)
    begin()
    return sum(part.num_rows for part in StoreLog(store, WIDE, "r").read({"next": 0}, {"next": 1}))


def read_source(store: ObjectStore, folder: Path) -> object:
    large_batch(folder / "batch")
    assert store.create("0000000000.arrow", (folder / "batch").read_bytes())
    time = SCHEMA.names[1]
    log = FileLog(Location("store", store.uri, store.options), "arrow", WIDE, time, 0, "")
    begin()
    end = log.advance(log.start(), 0, 64).place
    return [end["next"], end["max"] - TIMES]


def copy_file(store: ObjectStore, folder: Path) -> object:
    large_batch(folder / "batch")
    begin()
    store.put_file("file", folder / "batch")
    store.fetch("file", folder / "copy")
    return (folder / "copy").stat().st_size - (folder / "batch").stat().st_size


LARGE: dict[str, Callable[[ObjectStore, Path], object]] = {
    action.__name__: action for action in (write_flow, write_sink, read_flow, read_source, copy_file)
}


def begin() -> None:
    """From here on an allocation beyond `HEAP` fails."""
    status = Path("/proc/self/status").read_text().splitlines()
    most = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:")) + HEAP
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def main(what: str, uri: str, options: str, folder: str) -> None:
    """Prints what came of it as JSON."""
    store = ObjectStore(uri, json.loads(options))
    store.put("first", "")  # with it the client's threads
    store.delete(["first"])
    print(json.dumps({**LARGE, "write_small": write_small}[what](store, Path(folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
