"""Messages of a topic become rows, or dead letters."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import TopicPartition
from weir_placement.model.fragment import FragmentError
from weir_runtime.chunks import CHUNK
from weir_runtime.kafka_clients import client_settings, librdkafka_settings
from weir_runtime.logs import json_rows
from weir_runtime.logs.dead_letters import BadRows, FolderLetters
from weir_runtime.sources.kafka import log as kafka_log
from weir_runtime.sources.kafka import reader
from weir_runtime.sources.kafka.intake import Messages
from weir_runtime.sources.kafka.log import BATCH_SECONDS, KafkaLog
from weir_runtime.sources.kafka.place import TopicLayout

from tests.runtime.support import rows_of

SCHEMA = pa.schema(
    [("k", pa.int64()), ("x", pa.float64()), ("name", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))]
)


def test_keys_become_columns_and_times_are_utc() -> None:
    values = [
        b'{"k": 1, "x": 2, "name": "a", "ts": "2013-01-01T00:00:04.783142Z", "other": [1]}',
        b'{"ts": "2013-01-01 00:00:05",\n "k": 2}',
        b'{"ts": "2013-01-01T00:00:06.5+00:00", "x": null}',
    ]
    table = json_rows.parse(values, SCHEMA, "ts", None).rows
    assert table.column("k").to_pylist() == [1, 2, None]
    assert table.column("x").to_pylist() == [2.0, None, None]
    assert table.column("ts").to_pylist() == [
        datetime(2013, 1, 1, 0, 0, 4, 783142, tzinfo=UTC),
        datetime(2013, 1, 1, 0, 0, 5, tzinfo=UTC),
        datetime(2013, 1, 1, 0, 0, 6, 500000, tzinfo=UTC),
    ]


BAD = [
    b'{"k": "one"}',
    b"",
    b"no json",
    b"null",
    b'{"k": 1} {"k": 2}',
    b'{"k": 9, "ts": "2099-01-01"}',
    b"{}",
]
GOOD = [f'{{"k": {k}, "ts": "2013-01-01T00:00:0{k}Z"}}'.encode() for k in range(5)]


def log_of_bad_rows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, ahead: Path | None = None, fail: bool = False
) -> KafkaLog:
    """A topic of good messages with bad ones among them, its offsets from 7 on."""
    values = [*GOOD[:2], *BAD, *GOOD[2:]]
    topic = SimpleNamespace(
        layout=lambda: TopicLayout("id", ("0",)),
        beginnings=lambda keys: {"0": 7},
        ends=lambda keys: {"0": 7 + len(values)},
        fetch=lambda ranges, *bounds: {"0": Messages(7 + len(values), values, [*range(7, 7 + len(values))])},
    )
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: topic)
    bad_rows = BadRows(FolderLetters(str(folder)), fail, ahead=86_400_000_000, unit="offset")
    options = {"bootstrapServers": "b:9092", "topic": "t"}
    return KafkaLog(options, SCHEMA, "ts", 0, "", ahead, 0, bad_rows)


@pytest.mark.parametrize("here", [False, True], ids=["elsewhere", "where it was fetched"])
def test_what_does_not_fit_goes_to_the_dead_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    log = log_of_bad_rows(tmp_path / "dead", monkeypatch, tmp_path / "ahead" if here else None)
    start = {"next": {"0": 7}, "max": {"0": None}, "topic": "id"}
    end = log.advance(start, 0, 64).place
    assert log.bad(start, end) == len(BAD)
    assert datetime.fromtimestamp(end["max"]["0"] / 1e6, UTC).second == 4, "not that of 2099"
    assert [k for batch in log.read(start, end) for k in batch.column("k").to_pylist()] == [*range(5)]
    (path,) = (tmp_path / "dead").iterdir()
    letters = pq.read_table(path).to_pylist()
    assert [letter["row"] for letter in letters] == BAD
    assert [letter["offset"] for letter in letters] == [*range(9, 9 + len(BAD))]
    assert {letter["source"] for letter in letters} == {"topic t, partition 0"}


def test_a_stream_may_want_to_fail_at_a_bad_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of_bad_rows(tmp_path, monkeypatch, fail=True)
    with pytest.raises(ValueError, match=r"topic t, partition 0, offset 9: .*onBadRow: Fail"):
        log.advance({"next": {"0": 7}, "max": {"0": None}, "topic": "id"}, 0, 64)


def test_a_source_without_a_topic_or_brokers_is_refused() -> None:
    with pytest.raises(FragmentError, match="topic"):
        KafkaLog({"bootstrapServers": "b:9092"}, SCHEMA, "ts", 0, "")
    for settings in (client_settings, librdkafka_settings):
        with pytest.raises(FragmentError, match="bootstrapServers"):
            settings({"topic": "t"})


def test_wide_rows_are_handed_on_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = "w" * 100_000
    value = f'{{"k": 1, "name": "{wide}", "ts": "2013-01-01T00:00:00Z"}}'.encode()
    topic = SimpleNamespace(
        layout=lambda: TopicLayout("id", ("0",)),
        fetch=lambda ranges: {"0": Messages(200, [value] * 200, [*range(200)])},
    )
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: topic)
    log = KafkaLog({"bootstrapServers": "b:9092", "topic": "t"}, SCHEMA, "ts", 0, "")
    start, end = {"next": {"0": 0}, "max": {"0": None}}, {"next": {"0": 200}, "max": {"0": 1}}
    batches = rows_of(log, start, end)
    assert sum(batch.num_rows for batch in batches) == 200
    assert len({id_ for batch in batches for id_ in batch.column("_id").to_pylist()}) == 200
    assert max(batch.nbytes for batch in batches) < 1.1 * CHUNK


class ThinLink:
    """A consumer to which a message comes every `seconds`, by a clock of its own, until `last`."""

    def __init__(self, seconds: float, last: int) -> None:
        self.now, self.seconds, self.last, self.at = 0.0, seconds, last, 0

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.at = partitions[0].offset

    def consume(self, count: int, timeout: float) -> list[SimpleNamespace]:
        self.now += self.seconds
        if self.at > self.last:
            return []
        value = f'{{"k": {self.at}, "ts": "2013-01-01T00:00:{self.at:02d}Z"}}'.encode()
        fields = {"partition": 0, "offset": self.at, "error": None, "value": value}
        self.at += 1
        return [SimpleNamespace(**{name: lambda it=it: it for name, it in fields.items()})]


def behind(link: ThinLink, monkeypatch: pytest.MonkeyPatch) -> KafkaLog:
    """A topic of thirty messages behind it."""
    monkeypatch.setattr(time, "monotonic", lambda: link.now)
    monkeypatch.setattr(reader, "Consumer", lambda settings: link)
    monkeypatch.setattr(reader, "AdminClient", lambda settings: None)
    monkeypatch.setattr(reader.KafkaReader, "layout", lambda topic: TopicLayout("id", ("0",)))
    monkeypatch.setattr(reader.KafkaReader, "beginnings", lambda topic, keys: {"0": 0})
    monkeypatch.setattr(reader.KafkaReader, "ends", lambda topic, keys: {"0": 30})
    monkeypatch.setattr(kafka_log, "_readers", {})
    return KafkaLog({"bootstrapServers": "b:9092", "topic": "t"}, SCHEMA, "ts", 0, "")


def test_a_thin_link_gives_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    link = ThinLink(3.0, 29)
    log, place, ends = behind(link, monkeypatch), {"next": {"0": 0}, "max": {"0": None}}, []
    while (end := log.advance(place, 0, 64).place) != place:
        ends.append(end["next"]["0"])
        place = end
    messages_read = int(BATCH_SECONDS // link.seconds) + 1
    assert ends == [*range(messages_read, 30, messages_read), 30]


def test_a_batch_is_read_to_its_end_as_long_as_something_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    link = ThinLink(reader.PATIENCE / 2, 29)
    start, end = ({"next": {"0": at}, "max": {"0": None}} for at in (0, 30))
    (batch,) = behind(link, monkeypatch).read(start, end)
    assert batch.column("k").to_pylist() == [*range(30)]
    link.last = 9
    with pytest.raises(TimeoutError, match="topic t: nothing more, partition 0 from 10 on"):
        list(behind(link, monkeypatch).read(start, end))
