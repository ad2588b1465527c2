"""Rows that a topic's log has fetched for their times are not fetched again when the batch is read."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

import pyarrow as pa
import pytest
from weir_placement.model.fragment import TypedColumn
from weir_runtime.inputs import open_input
from weir_runtime.logs import ahead
from weir_runtime.logs.log import ENDLESS, Place, Room
from weir_runtime.scratch import clear_earlier
from weir_runtime.sources.kafka.intake import Messages, Range
from weir_runtime.sources.kafka.log import KafkaLog
from weir_runtime.sources.kafka.place import TopicLayout

from tests.runtime.support import files_output, fragment, source

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
START: Place = {"next": {"0": 0, "1": 7}, "max": {"0": None, "1": None}}
Fetches = list[tuple[str, int, int]]
"""Partition, first offset, offset behind the last, of each fetch in order."""


class GrowingTopic:
    """Two partitions, to which six messages come whenever some were fetched within a room. Each holds an
    odd time at every third offset, later than its watermark allows."""

    def __init__(self) -> None:
        self.fetches: Fetches = []
        self._ends = {key: at + 6 for key, at in START["next"].items()}

    def layout(self) -> TopicLayout:
        return TopicLayout("id", ("0", "1"))

    def ends(self, keys: Collection[str]) -> dict[str, int]:
        return {key: self._ends[key] for key in keys}

    beginnings = ends

    def fetch(
        self, ranges: Mapping[str, Range], room: Room = ENDLESS, seconds: float = inf
    ) -> dict[str, Messages]:
        taken = {}
        for key, item in ranges.items():
            self.fetches.append((key, item.first, item.until))
            offsets = [*range(item.first, item.until)]
            times = [30 if at % 3 else 10 for at in offsets]
            rows = zip(offsets, times, strict=True)
            values = [f'{{"k": {at}, "ts": "2013-01-01T00:00:{s}Z"}}'.encode() for at, s in rows]
            taken[key] = Messages(item.until, values, offsets)
            if room != ENDLESS:
                self._ends[key] = item.until + 6
        return taken


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> Fetches:
    """Those of the one broker."""
    topic = GrowingTopic()
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: topic)
    return topic.fetches


def log_of(folder: Path | None, sidelog: str = "") -> KafkaLog:
    return KafkaLog({"bootstrapServers": "b:9092", "topic": "t"}, SCHEMA, "ts", 0, sidelog, folder)


def rows(log: KafkaLog, start: Place, end: Place) -> list[dict[str, object]]:
    return [row for batch in log.read(start, end) for row in batch.to_pylist()]


def test_each_row_is_fetched_once_and_reads_the_same(fetches: Fetches, tmp_path: Path) -> None:
    log = log_of(tmp_path / "ahead", str(tmp_path / "late"))
    place = START
    for _ in range(3):
        end = log.advance(place, 0, 1).place
        worker: KafkaLog = pickle.loads(pickle.dumps(log))
        count = len(fetches)
        batch = rows(worker, place, end)
        assert len(fetches) == count
        assert batch == rows(log_of(None), place, end)
        assert worker.late(place, end) > 0
        place = end


@pytest.mark.parametrize("executors", [0, 2])
def test_executors_find_what_the_driver_has_fetched(fetches: Fetches, tmp_path: Path, executors: int) -> None:
    """They have no folder of its machine, but the one of the checkpoint."""
    item = replace(source("a", tmp_path), source={"kafka": {"bootstrapServers": "b:9092", "topic": "t"}})
    item = replace(item, columns=(TypedColumn("k", "BIGINT"), TypedColumn("ts", "TIMESTAMP")), delay=10**8)
    spec = fragment(tmp_path, "f", [item], [], files_output(tmp_path / "out", "k"), executors=executors)
    opened = open_input(item, spec)
    assert opened is not None
    end = opened.log.advance(START, 0, 1).place
    fetches.clear()
    executor: KafkaLog = pickle.loads(pickle.dumps(opened.log))
    assert len(rows(executor, START, end)) == 12
    assert fetches == []
    assert any(Path(spec.checkpoint).rglob("*.arrow")) == bool(executors)


def test_what_an_epoch_before_has_left_between_driver_and_executors_goes(tmp_path: Path) -> None:
    item = source("a", tmp_path)
    spec = fragment(tmp_path, "f", [item], [], files_output(tmp_path / "out", "k"), executors=1, epoch=10)
    for epoch in (2, 9, 10, 11):
        (Path(spec.checkpoint) / "ahead" / f"e{epoch}" / "a").mkdir(parents=True)
    clear_earlier(spec)
    assert sorted(path.name for path in (Path(spec.checkpoint) / "ahead").iterdir()) == ["e10", "e11"]


def test_another_range_than_the_latest_is_fetched(fetches: Fetches, tmp_path: Path) -> None:
    log = log_of(tmp_path / "ahead")
    first = log.advance(START, 0, 1).place
    second = log.advance(first, 0, 1).place
    fetches.clear()
    assert rows(log, START, second)  # two batches at once, as when the one before was given up
    assert rows(log, START, first)  # a batch of before
    assert fetches == [("0", 0, 12), ("1", 7, 19), ("0", 0, 6), ("1", 7, 13)]


def test_only_what_the_room_allows_is_kept(
    fetches: Fetches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(tmp_path / "ahead")
    start = log.advance(START, 0, 1).place
    assert len(list((tmp_path / "ahead").iterdir())) == 2
    monkeypatch.setattr(ahead, "MOST", 200)  # a partition's six rows are 6 x 24 bytes
    end = log.advance(start, 0, 1).place
    assert len(list((tmp_path / "ahead").iterdir())) == 1
    fetches.clear()
    assert rows(log, start, end) == rows(log_of(None), start, end)


def test_where_nothing_was_left_all_is_fetched(fetches: Fetches, tmp_path: Path) -> None:
    end = log_of(tmp_path / "driver").advance(START, 0, 1).place
    fetches.clear()
    assert rows(log_of(tmp_path / "elsewhere"), START, end)
    assert len(fetches) == 2
