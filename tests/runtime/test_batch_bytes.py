"""What one batch reads is bounded by bytes, not by numbers of files: a reader that was away comes back to a
backlog that fits into its heap, and hops do not multiply."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore
from weir_placement.model.location import Location
from weir_runtime import store as store_module
from weir_runtime.exchanges.folder.log import FolderLog
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.exchanges.store.log import StoreLog
from weir_runtime.exchanges.store.writer import StoreWriter
from weir_runtime.exchanges.topic.log import BatchEnd, accept
from weir_runtime.exchanges.topic.topic import PIECE
from weir_runtime.logs.log import Log, Place
from weir_runtime.names import batch_name
from weir_runtime.sources.files import FileLog
from weir_runtime.sources.rate import ORIGIN, RateLog
from weir_runtime.store import ObjectStore

from tests.runtime.flows import SCHEMA, batch, free
from tests.runtime.support import SCHEMA as ROWS
from tests.runtime.support import append_batch

ROOM = 100_000
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


def steps(log: Log, room: int = ROOM, most: int = 64) -> list[list[int]]:
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
    assert steps(log, most=2) == [[0, 1], [2], [3], [4, 5], [6]]


def test_a_flow_on_a_store_by_bytes_in_memory(store: ObjectStore) -> None:
    writer = StoreWriter(store, 1)
    for number, rows in enumerate(WIDTHS):
        writer.write(table(rows), number, 1, free)
    assert steps(StoreLog(store, SCHEMA, "r")) == EXPECTED


def test_a_store_s_older_batches_by_the_size_of_their_objects(store: ObjectStore) -> None:
    for number, rows in enumerate(WIDTHS):
        store.create(batch_name(number, "arrow"), b"x" * 16 * rows, {"clock": "1", "rows": str(rows)})
    assert steps(StoreLog(store, SCHEMA, "r")) == EXPECTED


def end(number: int, size: int, pieces: int = 1) -> BatchEnd:
    return BatchEnd(1, number, f"c{number}", 0, 0, pieces, 1, 1, 1, "numbering", size)


def topic_steps(ends: list[BatchEnd]) -> list[list[int]]:

    records = [(at, json.loads(end.to_json())) for at, end in enumerate(ends)]
    ranges, place = [], {"next": 0, "offset": 0, "epoch": 0}
    while place["offset"] < len(records):
        place, accepted, _ = accept(place, records[place["offset"] :], 64, ROOM)
        ranges.append([item.batch for item in accepted])
    return ranges


def test_a_flow_in_a_topic() -> None:
    assert topic_steps([end(number, 16 * rows) for number, rows in enumerate(WIDTHS)]) == EXPECTED


def test_a_topic_s_older_batches_by_their_pieces() -> None:
    assert PIECE > ROOM
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
    assert all(len(part) <= 1 or sum(sizes[n] + 1 for n in part) <= ROOM for part in ranges)


def test_a_source_of_files(tmp_path: Path) -> None:
    for number, rows in enumerate(WIDTHS):
        append_batch(tmp_path, number, [(number, i * 7919 % 65_536, i) for i in range(rows)])
    sizes = [(tmp_path / batch_name(number, "parquet")).stat().st_size for number in range(len(WIDTHS))]
    log = FileLog(Location("folder", str(tmp_path)), "parquet", ROWS, "ts", 0, "")
    ranges = steps(log, room=sizes[0] + sizes[1] + sizes[2])
    assert ranges == EXPECTED


def test_a_source_s_rows_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be a twentieth of what its rows take in a join's state."""
    for number, rows in enumerate(WIDTHS):
        append_batch(tmp_path, number, [(1, 1, 1)] * rows)
    monkeypatch.setattr("weir_runtime.sources.files.MOST_ROWS", ROOM // 16)
    log = FileLog(Location("folder", str(tmp_path)), "parquet", ROWS, "ts", 0, "")
    assert steps(log, room=10**9) == EXPECTED


def test_a_generator_s_rows() -> None:
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))])
    log = RateLog(1e6, schema, "ts", after=ORIGIN)
    place: Place = log.start()
    ahead = log.advance(place, 0, 64, ROOM).place
    read = pa.Table.from_batches(log.read(place, ahead))
    assert ROOM / 2 < read.nbytes < 2 * ROOM
