"""Where a source's reading began is durable before its first row is read: a process that dies between that
and its first batch begins there again, whatever a new reader would find by then."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest
from weir_placement.model.fragment import Input, TypedColumn
from weir_runtime.logs.losses import DataLoss
from weir_runtime.names import batch_name
from weir_runtime.source import Control, WeirStreamReader
from weir_runtime.sources import source_log

from tests.runtime.support import append_batch, source

SECOND = 1_000_000


class SourceLife:
    """What Spark asks a reader in one process."""

    def __init__(self, folder: Path, item: Input) -> None:
        folder.mkdir()
        self.reader = WeirStreamReader(source_log(item, ""), item.name, Control(folder), 64)

    def plans(self) -> dict[str, Any]:
        """The end of the first batch, as it stands in the checkpoint."""
        end = self.reader.latestOffset(self.reader.initialOffset(), None)
        return json.loads(json.dumps(end))  # type: ignore[no-any-return]

    def runs(self, end: dict[str, Any]) -> list[bytes]:
        """The ids of the first batch's rows."""
        (part,) = self.reader.partitions(self.reader.initialOffset(), end)
        batches = [batch.column("_id").to_pylist() for batch in self.reader.read(part)]
        return [row for ids in batches for row in ids if row is not None]


def test_the_first_files_are_deleted_before_they_are_read_again(tmp_path: Path) -> None:
    log = tmp_path / "a"
    for number in range(4):
        append_batch(log, number, [(1, number, number * SECOND)])
    one = SourceLife(tmp_path / "one", source("a", log))
    end = one.plans()
    assert len(one.runs(end)) == 4
    (log / batch_name(0, "parquet")).unlink()
    with pytest.raises(DataLoss, match=r"0000000000\.parquet of a batch that was not committed is gone"):
        SourceLife(tmp_path / "two", source("a", log)).runs(end)


def test_a_first_file_comes_back_that_a_reader_had_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "a"
    for number in range(2, 4):
        append_batch(log, number, [(1, number, number * SECOND)])
    one = SourceLife(tmp_path / "one", source("a", log))
    end = one.plans()
    rows = one.runs(end)
    append_batch(log, 0, [(1, 0, 0)])
    assert SourceLife(tmp_path / "two", source("a", log)).runs(end) == rows
    assert len(rows) == 2


def test_a_generator_begins_with_the_row_that_was_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count(1_700_000_000 * SECOND, SECOND // 4)
    monkeypatch.setattr(time, "time_ns", lambda: next(looks) * 1000)
    rate = {"rate": {"rowsPerSecond": 400.0, "rows": 200}}
    item = Input("r", "source", "default/r", rate, (TypedColumn("ts", "TIMESTAMP"),), "ts")
    first = SourceLife(tmp_path / "one", item).plans()
    two = SourceLife(tmp_path / "two", item)
    rows, end = two.runs(first), two.reader.latestOffset(first, None)
    assert (len(rows), end["ended"]) == (100, True)
    (part,) = two.reader.partitions(first, end)
    assert sum(batch.num_rows for batch in two.reader.read(part)) == 100 + 1, "and the marker"


def test_a_beginning_stands_in_the_first_end_alone(tmp_path: Path) -> None:
    log = tmp_path / "a"
    append_batch(log, 0, [(1, 0, 0)])
    life = SourceLife(tmp_path / "one", source("a", log))
    end = life.plans()
    assert end["from"] == {"next": 0, "max": None}
    append_batch(log, 1, [(1, 1, SECOND)])
    assert "from" not in life.reader.latestOffset(end, None)
    assert life.reader.initialOffset()["at"] is None


def test_a_first_batch_that_an_earlier_version_has_planned_is_run(tmp_path: Path) -> None:
    log = tmp_path / "a"
    for number in range(2):
        append_batch(log, number, [(1, number, number * SECOND)])
    life = SourceLife(tmp_path / "one", source("a", log))
    end = {name: value for name, value in life.plans().items() if name != "from"}
    assert len(life.runs(end)) == 2
