"""A planned batch is run again, and its topic is no longer what it was: that ends, one way or other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf

import pyarrow as pa
import pytest
from weir_runtime.logs.log import ENDLESS, Place, Room
from weir_runtime.logs.losses import DataLoss
from weir_runtime.sources.kafka.intake import Messages, OffsetsGone, Range
from weir_runtime.sources.kafka.log import KafkaLog
from weir_runtime.sources.kafka.place import TopicLayout
from weir_runtime.sources.kafka.reader import NoTopic

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
BEFORE: Place = {"next": {"0": 500, "1": 0}, "max": {"0": None, "1": None}, "topic": "old"}
PLANNED: Place = {"next": {"0": 506, "1": 2}, "max": {"0": 1, "1": 1}, "topic": "old"}
OTHERS = [0, 1]
"""Keys of partition 1, of which nothing is gone."""


@dataclass
class AlteredTopic:
    """Partition 0 goes from `begin` to `end`, partition 1 has two messages. A message's key is its offset."""

    id: str = "old"
    begin: int = 0
    end: int = 1_000
    refuses: bool = False  # as if the offsets were not there
    exists: bool = True
    fetches: int = 0

    def layout(self) -> TopicLayout:
        if not self.exists:
            raise NoTopic("no topic t")
        return TopicLayout(self.id, ("0", "1"))

    def ends(self, keys: Collection[str]) -> dict[str, int]:
        return {key: self.end if key == "0" else 2 for key in keys}

    def beginnings(self, keys: Collection[str]) -> dict[str, int]:
        return {key: self.begin if key == "0" else 0 for key in keys}

    def fetch(
        self, ranges: Mapping[str, Range], room: Room = ENDLESS, seconds: float = inf
    ) -> dict[str, Messages]:
        self.fetches += 1
        assert self.fetches < 10, "it asks again and again"
        begins, ends = self.beginnings(ranges), self.ends(ranges)
        for key, item in ranges.items():
            if self.refuses or not begins[key] <= item.first <= ends[key]:
                raise OffsetsGone("Offset out of range")
        for key, item in ranges.items():
            if item.until > ends[key]:
                raise TimeoutError("nothing more")
        return {key: messages(range(item.first, item.until)) for key, item in ranges.items()}


def messages(offsets: range) -> Messages:
    values = [f'{{"k": {at}, "ts": "2013-01-01T00:00:00Z"}}'.encode() for at in offsets]
    return Messages(offsets.stop, values, [*offsets])


def replay(monkeypatch: pytest.MonkeyPatch, topic: AlteredTopic, policy: str) -> list[int]:
    """Keys of the planned batch."""
    topic.fetches = 0
    options = {"bootstrapServers": "b:9092", "topic": "t", "onDataLoss": policy}
    log = KafkaLog(options, SCHEMA, "ts", 0, "")
    monkeypatch.setattr(log, "_reader", lambda: topic)
    batches = log.read(BEFORE, PLANNED)
    return sorted(key for batch in batches for key in batch.column("k").to_pylist())


@pytest.mark.parametrize("end", [2, 500, 503, 1_000])
def test_a_topic_made_again_is_told_however_long_it_is(monkeypatch: pytest.MonkeyPatch, end: int) -> None:
    with pytest.raises(DataLoss, match="recreated"):
        replay(monkeypatch, AlteredTopic("new", end=end), "Fail")
    assert replay(monkeypatch, AlteredTopic("new", end=end), "Continue") == []


@pytest.mark.parametrize(
    ("topic", "gone", "left"),
    [
        (AlteredTopic(begin=502), 2, [502, 503, 504, 505]),
        (AlteredTopic(begin=900), 6, []),
        (AlteredTopic(end=503), 3, [500, 501, 502]),
        (AlteredTopic(end=500), 6, []),
        (AlteredTopic(end=100), 6, []),
        (AlteredTopic(begin=501, end=503), 4, [501, 502]),
    ],
)
def test_a_topic_cut_short_gives_what_is_left(
    monkeypatch: pytest.MonkeyPatch, topic: AlteredTopic, gone: int, left: list[int]
) -> None:
    with pytest.raises(DataLoss, match=f"topic t: {gone} rows of partition 0 "):
        replay(monkeypatch, topic, "Fail")
    assert replay(monkeypatch, topic, "Continue") == OTHERS + left


@pytest.mark.parametrize("policy", ["Fail", "Continue"])
@pytest.mark.parametrize(
    ("topic", "words"),
    [
        (AlteredTopic(refuses=True), r"topic t: .*partition 0 from 500 .*Offset out of range"),
        (AlteredTopic(exists=False), "no topic t"),
    ],
)
def test_what_may_pass_is_asked_again_by_who_can_wait(
    monkeypatch: pytest.MonkeyPatch, topic: AlteredTopic, policy: str, words: str
) -> None:
    """As `read_again` does, for a TimeoutError and for a minute."""
    with pytest.raises(TimeoutError, match=words):
        replay(monkeypatch, topic, policy)
