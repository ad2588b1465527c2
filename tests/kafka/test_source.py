"""A topic with many or wide rows is read in batches that fit, each row once."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from weir_runtime.logs.log import MOST_ROWS
from weir_runtime.sources.kafka import log as kafka_log
from weir_runtime.sources.kafka.log import KafkaLog

from tests.kafka.broker import Broker
from tests.kafka.topics import SCHEMA as NARROW
from tests.kafka.topics import Topic

SCHEMA = pa.schema([("k", pa.int64()), ("wide", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))])
ROWS, WIDTH, ROOM = 60, 50_000, 400_000


@pytest.fixture
def backlog(broker: Broker, request: pytest.FixtureRequest) -> dict[str, str]:
    """A topic of two partitions that holds more than fits into a batch; the options of its source."""
    topic = f"wide-{request.node.callspec.params['bound']}"
    admin = KafkaAdminClient(bootstrap_servers=broker.address)
    admin.create_topics([NewTopic(topic, 2, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for k in range(ROWS):
        row = {"k": k, "wide": "w" * WIDTH, "ts": f"2026-01-01T00:00:{k:02d}Z"}
        producer.send(topic, json.dumps(row).encode(), partition=k % 2)
    producer.close()
    return {"bootstrapServers": broker.address, "topic": topic}


@pytest.mark.parametrize(("bound", "most"), [("BATCH_BYTES", ROOM), ("BATCH_SECONDS", 0.0)])
def test_a_backlog_is_taken_in_batches_that_fit(
    backlog: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: float
) -> None:
    monkeypatch.setattr(kafka_log, bound, most)
    log, again = (KafkaLog(backlog, SCHEMA, "ts", 0, "", folder) for folder in (tmp_path / "ahead", None))
    place, keys, batches = log.advance(log.start(), 0, 64).place, [], 0
    while (end := log.advance(place, 0, 64).place) != place:
        read = pa.Table.from_batches(log.read(place, end))
        assert bound != "BATCH_BYTES" or read.nbytes < ROOM + 3 * WIDTH  # a message more, and what Arrow adds
        assert read == pa.Table.from_batches(again.read(place, end))  # as a later life fetches it
        keys += read.column("k").to_pylist()
        place, batches = end, batches + 1
    assert sorted(keys) == [*range(ROWS)]
    assert batches >= (ROWS * WIDTH // (ROOM + 2 * WIDTH) if bound == "BATCH_BYTES" else 2)


def test_narrow_rows_are_counted_over_all_partitions(broker: Broker, tmp_path: Path) -> None:
    """Their bytes are few beside what they take in state."""
    topic, count = Topic(broker, "narrow", 3), MOST_ROWS * 4 // 10
    for partition in range(3):
        topic.send(range(count), partition)
    log, again = (KafkaLog(topic.options, NARROW, "ts", 10**12, "", ahead) for ahead in (tmp_path, None))
    first = place = log.advance(log.start(), 0, 64).place
    rows = []
    while (end := log.advance(place, 0, 64).place) != place:
        read = pa.Table.from_batches(log.read(place, end))
        assert read == pa.Table.from_batches(again.read(place, end))
        rows.append(read.num_rows)
        place = end
    assert rows == [MOST_ROWS, 3 * count - MOST_ROWS]
    whole = sum(batch.num_rows for batch in again.read(first, place))
    assert whole == 3 * count, "as a version without this bound has decided: its offsets are durable"
