"""A changed query begins in a topic where readers before it have noted how far event time was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from math import inf
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from weir_runtime.logs import notes
from weir_runtime.logs.log import Place
from weir_runtime.sources.kafka.intake import Messages, Range
from weir_runtime.sources.kafka.log import KafkaLog
from weir_runtime.sources.kafka.place import TopicLayout
from weir_runtime.sources.kafka.places_noted import PlacesNoted

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
SECOND = 1_000_000
ORIGIN = 1_767_225_600 * SECOND
"""[us] 2026-01-01T00:00:00Z"""


class Brokers:
    """A topic whose rows are seconds after `ORIGIN`, by partition; a fetch gives three of each at most."""

    def __init__(self, seconds: dict[str, list[int]]) -> None:
        self.seconds = seconds
        self.id = "id"
        self.fetched: list[tuple[str, int]] = []

    def layout(self) -> TopicLayout:
        return TopicLayout(self.id, tuple(self.seconds))

    def ends(self, keys: Collection[str]) -> dict[str, int]:
        return {key: len(self.seconds[key]) for key in keys}

    def beginnings(self, keys: Collection[str]) -> dict[str, int]:
        return dict.fromkeys(keys, 0)

    def fetch(
        self, ranges: Mapping[str, Range], room: float = inf, seconds: float = inf
    ) -> dict[str, Messages]:
        taken = {}
        for key, item in ranges.items():
            offsets = [*range(item.first, min(item.until, item.first + 3))]
            self.fetched += [(key, at) for at in offsets]
            taken[key] = Messages(item.first + len(offsets), [self._row(key, at) for at in offsets], offsets)
        return taken

    def _row(self, key: str, at: int) -> bytes:
        second = self.seconds[key][at]
        return f'{{"k": {second}, "ts": "2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"}}'.encode()


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Every fifth row is three seconds behind; partition 1 is at half the time of partition 0."""
    monkeypatch.setattr(notes, "NOTE", 0.0)
    times = [second - 3 * (second % 5 == 4) for second in range(60)]
    topic = Brokers({"0": times, "1": [second // 2 for second in times]})
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: topic)
    return topic


def log_of(root: Path, name: str, after: int = 0, **options: str) -> KafkaLog:
    """Of another fragment of the same namespace."""
    sidelog, since = str(root / "late" / "a" / name / "d"), ORIGIN + after * SECOND if after else 0
    options = {"bootstrapServers": "b:1", "topic": "t", **options}
    return KafkaLog(options, SCHEMA, "ts", 2 * SECOND, sidelog, after=since)


def read_all(log: KafkaLog) -> list[Place]:
    places = [log.start()]
    while (following := log.advance(places[-1], 0, 64).place) != places[-1]:
        places.append(following)
        log.committed(following)
    return places


def rows(log: KafkaLog, places: list[Place]) -> set[tuple[str, int]]:
    """Partition and offset of those that are on time."""
    batches = (batch for start, end in pairwise(places) for batch in log.read(start, end))
    ids = [int.from_bytes(each) for batch in batches for each in batch.column("_id").to_pylist()]
    return {(str(each >> 48), each % 2**48) for each in ids}


@pytest.mark.parametrize("after", [5, 17, 29, 55])
def test_it_reads_what_is_later_and_little_before(tmp_path: Path, brokers: Brokers, after: int) -> None:
    old = log_of(tmp_path, "old")
    whole = rows(old, read_all(old))
    brokers.fetched.clear()
    new = log_of(tmp_path, "new", after)
    places = read_all(new)
    fetched = {*brokers.fetched}
    later = {(key, at) for key, all_ in brokers.seconds.items() for at, s in enumerate(all_) if s > after}
    assert later <= fetched
    for key, times in brokers.seconds.items():
        first = min((at for other, at in fetched if other == key), default=len(times))
        needed = next((at for at, second in enumerate(times) if second > after), len(times))
        assert needed - first <= 3, "a batch"
    begin = places[1]["next"]
    assert rows(new, places) == {(key, at) for key, at in whole if at >= begin[key]}, "late are the same ones"


def test_without_notes_it_reads_what_the_topic_retains(tmp_path: Path, brokers: Brokers) -> None:
    """Also where the query began with the newest rows: those between its beginning and the cut are needed."""
    for begin in ("earliest", "latest"):
        places = read_all(log_of(tmp_path / begin, "new", 17, startingOffsets=begin))
        assert places[1]["next"] == {"0": 0, "1": 0}
        assert (places[1]["max"], places[-1]["next"]) == ({"0": None, "1": None}, {"0": 60, "1": 60})


def test_a_reader_that_began_at_the_end_leaves_no_notes(tmp_path: Path, brokers: Brokers) -> None:
    """It does not know how far event time was before."""
    read_all(log_of(tmp_path, "old", startingOffsets="latest"))
    assert read_all(log_of(tmp_path, "new", 17))[1]["next"] == {"0": 0, "1": 0}


def test_notes_of_a_topic_before_count_for_nothing(tmp_path: Path, brokers: Brokers) -> None:
    read_all(log_of(tmp_path, "old"))
    brokers.id = "another"
    assert read_all(log_of(tmp_path, "new", 29))[1]["next"] == {"0": 0, "1": 0}


def test_a_partition_that_was_added_is_read_from_its_first_row(tmp_path: Path, brokers: Brokers) -> None:
    read_all(log_of(tmp_path, "old"))
    brokers.seconds["2"] = [58, 59]
    places = read_all(log_of(tmp_path, "new", 29))
    assert places[1]["jump"] == ["0", "1"]
    assert places[2]["jump"] == ["2"]
    assert places[-1]["next"] == {"0": 60, "1": 60, "2": 2}


@given(
    st.lists(st.lists(st.integers(0, 50), max_size=30), min_size=1, max_size=3),
    st.integers(1, 50),
    st.lists(st.integers(1, 4), max_size=40),
)
def test_nothing_later_lies_before_where_it_begins(
    tmp_path_factory: pytest.TempPathFactory, times: list[list[int]], after: int, steps: list[int]
) -> None:
    """Whatever the order of rows, and wherever notes were left."""
    places = PlacesNoted(str(tmp_path_factory.mktemp("notes") / "late" / "a" / "f" / "d"), "topic")
    keys = [str(number) for number in range(len(times))]
    at = dict.fromkeys(keys, 0)
    for step in [0, *steps]:
        key = keys[step % len(keys)]
        at[key] = min(len(times[int(key)]), at[key] + step)
        maxima = {k: max(times[int(k)][: at[k]], default=None) for k in keys}
        places._notes._note_at = 0.0
        places.note({"next": dict(at), "max": maxima, "topic": "id"})
    begin = places.before(after, TopicLayout("id", tuple(keys)))
    assert begin is not None
    for key in keys:
        before = times[int(key)][: begin["next"][key]]
        assert max(before, default=None) == begin["max"][key]
        assert all(time <= after for time in before)
