"""Messages of a topic become rows, or the error says which topic and what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from weir_placement.model.fragment import FragmentError
from weir_runtime.logs.kafka_log import CHUNK, KafkaLog, client_settings, parse

SCHEMA = pa.schema(
    [("k", pa.int64()), ("x", pa.float64()), ("name", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))]
)


def test_keys_become_columns_and_times_are_utc() -> None:
    values = [
        b'{"k": 1, "x": 2, "name": "a", "ts": "2013-01-01T00:00:04.783142Z", "other": [1]}',
        b'{"ts": "2013-01-01 00:00:05",\n "k": 2}',
        b'{"ts": "2013-01-01T00:00:06.5+00:00", "x": null}',
    ]
    table = parse(values, SCHEMA, "topic t")
    assert table.column("k").to_pylist() == [1, 2, None]
    assert table.column("x").to_pylist() == [2.0, None, None]
    assert table.column("ts").to_pylist() == [
        datetime(2013, 1, 1, 0, 0, 4, 783142, tzinfo=UTC),
        datetime(2013, 1, 1, 0, 0, 5, tzinfo=UTC),
        datetime(2013, 1, 1, 0, 0, 6, 500000, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    "value", [b'{"k": "one"}', b"no json", b'{"ts": "2013-01-01T00:00:00+02:00"}', b'{"k": 1} {"k": 2}']
)
def test_what_does_not_fit_is_refused_with_its_topic(value: bytes) -> None:
    with pytest.raises(ValueError, match="topic t, partition 0"):
        parse([value], SCHEMA, "topic t, partition 0")


def test_a_source_without_a_topic_or_brokers_is_refused() -> None:
    with pytest.raises(FragmentError, match="topic"):
        KafkaLog({"bootstrapServers": "b:9092"}, SCHEMA, "ts", 0, "")
    with pytest.raises(FragmentError, match="bootstrapServers"):
        client_settings({"topic": "t"})


def test_wide_rows_are_handed_on_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = "w" * 100_000
    value = f'{{"k": 1, "name": "{wide}", "ts": "2013-01-01T00:00:00Z"}}'.encode()
    monkeypatch.setattr(
        KafkaLog, "_messages", lambda self, key, first, beyond, room: ([value] * 200, [*range(200)], 200)
    )
    log = KafkaLog({"bootstrapServers": "b:9092", "topic": "t"}, SCHEMA, "ts", 0, "")
    batches = list(log.read({"next": {"0": 0}, "max": {"0": None}}, {"next": {"0": 200}, "max": {"0": 1}}))
    assert sum(batch.num_rows for batch in batches) == 200
    assert len({id_ for batch in batches for id_ in batch.column("_id").to_pylist()}) == 200
    assert max(batch.nbytes for batch in batches) < 1.1 * CHUNK
