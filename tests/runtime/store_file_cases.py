"""What holds of sources and sinks on every object store: in memory (`make test`) and on a server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from weir_placement.model.fragment import Output
from weir_placement.model.location import Location
from weir_runtime.audit import sink_files
from weir_runtime.publish import Fenced, OlderCheckpoint, OtherNumbering
from weir_runtime.sources import source_log
from weir_runtime.sources.files import FileLog
from weir_runtime.store import ObjectStore, StoreError
from weir_runtime.store_sink import StoreSink

from tests.runtime.flows import batch, fenced, free
from tests.runtime.support import files_output, fragment, source

ROWS = pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
SPEC = fragment(Path(), "f", [], [], files_output(Path()))
ORIGIN = 1_700_000_000_000_000


def write(path: Path, table: pa.Table, form: str) -> None:
    """One file of a source."""
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    elif form == "csv":
        pyarrow.csv.write_csv(table.cast(pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us"))])), path)
    else:
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table.to_pylist()))


class FileCases:
    """`store` is an empty place for one source or sink."""

    def test_dead_letters_are_objects_each_once(self, store: ObjectStore, tmp_path: Path) -> None:
        """Also when their batch is read again, and by two readers that have one fragment's name."""
        write(tmp_path / "0000000000.json", pa.table({"v": [1, 2]}), "json")
        place = {"files": {"uri": f"{store.uri}/dead", "s3": store.options}}
        item = replace(source("a", tmp_path), bad_rows={"deadLetter": place})
        item = replace(item, source={"files": {"uri": str(tmp_path), "format": "json"}})
        for _ in range(2):
            log = source_log(item, str(tmp_path / "late" / "default" / "f" / "a"))
            end = log.advance(log.start(), 0, 64).place
            assert sum(part.num_rows for part in log.read(log.start(), end)) == 0
            assert log.bad(None, end) == 2
        assert list(store.names()) == ["dead/f/a/0000000000.parquet"]
        body = store.read("dead/f/a/0000000000.parquet")
        assert body is not None
        letters = pq.read_table(pa.BufferReader(bytes(body))).to_pylist()
        assert [(letter["offset"], letter["row"]) for letter in letters] == [
            (0, b'{"v": 1}'),
            (1, b'{"v": 2}'),
        ]
        assert {letter["source"] for letter in letters} == {str(tmp_path / "0000000000.json")}

    def test_a_store_that_answers_now_and_then_ends_no_source(
        self, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It said that there is an END, and nothing of the files before it: they were taken for absent."""
        write(tmp_path / "0000000000.json", pa.table({"v": [1], "ts": ["2026-01-01T00:00:00Z"]}), "json")
        store.create("0000000000.json", (tmp_path / "0000000000.json").read_bytes())
        store.create("END", b"")
        about, down = ObjectStore.about, ["0000000000.json"]

        def now_and_then(self: ObjectStore, name: str) -> dict[str, str] | None:
            if name in down:
                raise StoreError("no answer")
            return about(self, name)

        monkeypatch.setattr(ObjectStore, "about", now_and_then)
        log = FileLog(Location("store", store.uri, store.options), "json", ROWS, "ts", 0, "")
        start = {"next": 0, "max": None}
        advance = log.advance(start, 7, 64)
        assert (advance.place, advance.clock, advance.ended) == (start, 7, False)
        down.clear()
        assert log.start() == start
        advance = log.advance(start, 7, 64)
        assert (advance.place["next"], advance.ended) == (1, True)

    @pytest.mark.parametrize("form", ["parquet", "arrow", "json", "csv"])
    def test_a_source_is_read_as_from_a_folder(self, store: ObjectStore, form: str, tmp_path: Path) -> None:
        here = FileLog(Location("folder", str(tmp_path)), form, ROWS, "ts", 1_000_000, str(tmp_path / "late"))
        there = FileLog(
            Location("store", store.uri, store.options), form, ROWS, "ts", 1_000_000, str(tmp_path / "late2")
        )
        place = there.start()
        assert there.advance(place, 0, 64).place == place
        for number, at in enumerate(([1, 2], [5, 4, 3], [])):
            table = pa.Table.from_pylist([{"v": s, "ts": ORIGIN + s * 1_000_000} for s in at], schema=ROWS)
            path = tmp_path / f"{number:010d}.{form}"
            write(path, table, form)
            store.create(path.name, path.read_bytes())
        assert there.backlog(place) == here.backlog(place) == 3
        ahead = there.advance(place, 0, 2)
        assert (ahead, ahead.place["next"]) == (here.advance(place, 0, 2), 2)
        (tmp_path / "END").touch()
        store.put("END", "")
        last, same = (log.advance(ahead.place, ahead.clock, 64) for log in (there, here))
        assert last == same
        assert last.ended
        ids = [[part.to_pylist() for part in log.read(place, last.place)] for log in (there, here)]
        assert ids[0] == ids[1]
        assert sum(map(len, ids[0])) == 4, "one of them was late"
        assert there.late(None, last.place) == here.late(None, last.place) == 1
        assert there.whole() == here.whole()

    def test_a_sink_has_each_batch_once_and_an_audit_reads_it(self, store: ObjectStore) -> None:
        sink = StoreSink(store, SPEC, "p", [("v", "n")])
        assert sink.write(batch(1, 2), 0, 0, free) > 0
        assert sink.write(batch(), 1, 0, free) == 0
        with pytest.raises(Fenced):
            sink.write(batch(3), 2, 0, fenced)
        StoreSink(store, SPEC, "p", [("v", "n")]).write(batch(100), 0, 0, free)
        sink.write(batch(4), 2, 0, free)
        assert list(store.names()) == ["p-0000000000.parquet", "p-0000000002.parquet"]
        tables = [
            pq.ParquetFile(f).read() for f in sink_files(Output("files", store.uri, {"s3": store.options}))
        ]
        assert pa.concat_tables(tables).to_pydict() == {"n": [1, 2, 4]}

    def test_a_sink_with_the_rows_of_a_lost_checkpoint_is_refused(self, store: ObjectStore) -> None:
        first = StoreSink(store, SPEC, "0123456789ab", [("v", "n")])
        first.claim("one", fresh=True)
        first.write(batch(1), 0, 0, free)
        StoreSink(store, SPEC, "0123456789ab", [("v", "n")]).claim("one", fresh=False)
        again = StoreSink(store, SPEC, "0123456789ab", [("v", "n")])
        with pytest.raises(OtherNumbering, match="numbering one, this one's is two"):
            again.claim("two", fresh=True)
        with pytest.raises(OtherNumbering):
            again.write(batch(2), 0, 0, free)

    def test_a_sink_with_batches_that_the_checkpoint_has_not_planned_is_refused(
        self, store: ObjectStore
    ) -> None:
        """Batches without rows have no object; another plan's objects are its own."""
        changed = StoreSink(store, SPEC, "f123456789ab", [("v", "n")])
        changed.claim("one", fresh=True)
        changed.write(batch(9), 9, 0, free)
        first = StoreSink(store, SPEC, "0123456789ab", [("v", "n")])
        first.take_over("one", -1)
        for number in (0, 3):
            first.write(batch(number), number, 0, free)
        again = StoreSink(store, SPEC, "0123456789ab", [("v", "n")])
        again.take_over("one", 3)
        for planned in (-1, 1):
            with pytest.raises(OlderCheckpoint, match=r"0123456789ab-000000000\d\.parquet is there"):
                again.take_over("one", planned)
