"""What one batch reads is bounded by bytes and rows, not by numbers of files: a reader that was away comes
back to a backlog that fits into its heap, and hops do not multiply."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore
from pyspark.sql.types import StructType
from weir_placement.model.location import Location
from weir_runtime import store as store_module
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter
from weir_runtime.exchanges.topic.log import BatchEnd, accept
from weir_runtime.exchanges.topic.topic import PIECE
from weir_runtime.logs.log import MOST_ROWS, Advance, Log, Place, Room
from weir_runtime.logs.warm_log import WarmLog
from weir_runtime.names import batch_name
from weir_runtime.source import Control, WeirSource, WeirStreamReader
from weir_runtime.sources.files import FileLog
from weir_runtime.sources.rate import ORIGIN, RateLog
from weir_runtime.store import ObjectStore

from tests.runtime.flows import SCHEMA, batch, free
from tests.runtime.support import SCHEMA as ROWS
from tests.runtime.support import append_batch

ROOM = Room(bytes=100_000)
FEW = Room(bytes=10**9, rows=ROOM.bytes // 16)
WIDTHS = (10, 3_000, 3_000, 20_000, 10, 10, 3_000)
"""Rows of 16 bytes in each batch: one alone is larger than the room."""
EXPECTED = [[0, 1, 2], [3], [4, 5, 6]]


def table(rows: int) -> pa.Table:
    return batch(*range(1, rows + 1))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    memory = MemoryStore()
    monkeypatch.setattr(store_module, "_connect", lambda *_: memory)
    return ObjectStore(f"s3://bytes{next(_numbers)}/flow", {})


_numbers = itertools.count()


def steps(log: Log, room: Room = ROOM, most: int = 64) -> list[list[int]]:
    """The numbers of the batches that each range of offsets has."""
    ranges, place = [], log.start()
    while (ahead := log.advance(place, 0, most, room).place) != place:
        ranges.append([*range(place["next"], ahead["next"])])
        place = ahead
    return ranges


def test_a_flow_in_a_folder(tmp_path: Path) -> None:
    writer = FolderWriter(str(tmp_path), 1)
    for number, rows in enumerate(WIDTHS):
        writer.write(table(rows), number, 1, free)
    log = FolderLog(str(tmp_path), SCHEMA, "r")
    assert steps(log) == EXPECTED
    assert steps(log, FEW) == EXPECTED
    assert steps(log, most=2) == [[0, 1], [2], [3], [4, 5], [6]]


def test_a_flow_on_a_store_by_bytes_in_memory(store: ObjectStore) -> None:
    writer = StoreWriter(store, 1)
    for number, rows in enumerate(WIDTHS):
        writer.write(table(rows), number, 1, free)
    assert steps(StoreLog(store, SCHEMA, "r")) == EXPECTED
    assert steps(StoreLog(store, SCHEMA, "r"), FEW) == EXPECTED


def test_a_store_s_older_batches_by_the_size_of_their_objects(store: ObjectStore) -> None:
    for number, rows in enumerate(WIDTHS):
        store.create(batch_name(number, "arrow"), b"x" * 16 * rows, {"clock": "1", "rows": str(rows)})
    assert steps(StoreLog(store, SCHEMA, "r")) == EXPECTED


def end(number: int, size: int, pieces: int = 1, rows: int = 1) -> BatchEnd:
    return BatchEnd(1, number, f"c{number}", 0, 0, pieces, rows, 1, 1, "numbering", size)


def topic_steps(ends: list[BatchEnd], room: Room = ROOM) -> list[list[int]]:

    records = [(at, json.loads(end.to_json())) for at, end in enumerate(ends)]
    ranges, place = [], {"next": 0, "offset": 0, "epoch": 0}
    while place["offset"] < len(records):
        place, accepted, _ = accept(place, records[place["offset"] :], 64, room)
        ranges.append([item.batch for item in accepted])
    return ranges


def test_a_flow_in_a_topic() -> None:
    ends = [end(number, 16 * rows, rows=rows) for number, rows in enumerate(WIDTHS)]
    assert topic_steps(ends) == EXPECTED
    assert topic_steps(ends, FEW) == EXPECTED


def test_a_topic_s_older_batches_by_their_pieces() -> None:
    assert ROOM.bytes < PIECE
    assert topic_steps([end(0, 0, 0), end(1, 0, 1), end(2, 0, 0), end(3, 0, 1)]) == [[0], [1], [2], [3]]


def test_a_batch_s_end_may_say_more_than_is_known() -> None:
    record = {**vars(end(0, 7)), "later": "field"}
    assert BatchEnd.from_record(record) == end(0, 7)


@given(st.lists(st.integers(0, 250_000), min_size=1, max_size=40), st.data())
def test_what_a_topic_gives_in_parts_is_the_whole(sizes: list[int], data: st.DataObject) -> None:
    """Also with ends of processes that were over, which are no batch's."""
    ends = [end(number, size + 1) for number, size in enumerate(sizes)]
    for at in data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=3)):
        ends.insert(at, ends[at])
    ranges = topic_steps(sorted(ends, key=lambda item: item.batch))
    assert [number for part in ranges for number in part] == [*range(len(sizes))]
    assert all(len(part) <= 1 or sum(sizes[n] + 1 for n in part) <= ROOM.bytes for part in ranges)


def test_a_source_of_files(tmp_path: Path) -> None:
    for number, rows in enumerate(WIDTHS):
        append_batch(tmp_path, number, [(number, i * 7919 % 65_536, i) for i in range(rows)])
    sizes = [(tmp_path / batch_name(number, "parquet")).stat().st_size for number in range(len(WIDTHS))]
    log = FileLog(Location("folder", str(tmp_path)), "parquet", ROWS, "ts", 0, "")
    ranges = steps(log, Room(sizes[0] + sizes[1] + sizes[2]))
    assert ranges == EXPECTED


def test_a_source_s_rows_are_counted_too(tmp_path: Path) -> None:
    """A file may be a twentieth of what its rows take in a join's state."""
    for number, rows in enumerate(WIDTHS):
        append_batch(tmp_path, number, [(1, 1, 1)] * rows)
    log = FileLog(Location("folder", str(tmp_path)), "parquet", ROWS, "ts", 0, "")
    assert steps(log, FEW) == EXPECTED


def test_a_generator_s_rows() -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))])
    log = RateLog(1e6, schema, "ts", after=ORIGIN)
    place: Place = log.start()
    ahead = log.advance(place, 0, 64, ROOM).place
    read = pa.Table.from_batches(log.read(place, ahead))
    assert ROOM.bytes / 2 < read.nbytes < 2 * ROOM.bytes
    assert log.advance(place, 0, 64, Room(rows=17)).place["next"] == place["next"] + 17


def test_the_inputs_of_a_batch_share_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its topics, flows and folders together: what they take is in one heap."""
    rooms: list[Room] = []

    def advance(log: WarmLog, place: Place, clock: int, most: int, room: Room) -> Advance:
        rooms.append(room)
        return Advance(place, clock, False)

    monkeypatch.setattr(WarmLog, "advance", advance)
    Control(tmp_path).set("go")
    options = {
        "log": pickle.dumps(WarmLog(SCHEMA)).hex(),
        "control": str(tmp_path),
        "most": "64",
        "input": "a",
        "time": "ts",
    }
    for inputs in (1, 2, 3):
        reader = WeirSource({**options, "inputs": str(inputs)}).streamReader(StructType())
        assert isinstance(reader, WeirStreamReader)
        reader.latestOffset(reader.initialOffset(), None)
    assert [room.rows for room in rooms] == [MOST_ROWS, MOST_ROWS // 2, MOST_ROWS // 3]


def test_what_an_earlier_version_decided_is_read_as_it_was(tmp_path: Path) -> None:
    """Its offsets are durable, and may be of more rows than a batch has now."""
    writer = FolderWriter(str(tmp_path), 1)
    for number in range(3):
        writer.write(table(MOST_ROWS // 2), number, 1, free)
    log = FolderLog(str(tmp_path), SCHEMA, "r")
    assert steps(log, Room()) == [[0, 1], [2]]
    assert sum(batch.num_rows for batch in log.read({"next": 0}, {"next": 3})) == 3 * MOST_ROWS // 2
