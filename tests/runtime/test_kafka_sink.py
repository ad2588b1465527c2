"""What a sink writes as JSON is JSON, and a source reads it as it was."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import kafka
import pyarrow as pa
import pytest
from weir_placement.model.fragment import FragmentError
from weir_runtime.kafka_sinks import KafkaSink
from weir_runtime.logs import json_rows

from tests.runtime.flows import free

TS = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)
ROWS = pa.table(
    {
        "n": pa.array([1, -(2**63)]),
        "x": pa.array([float("nan"), float("-inf")]),
        "f": pa.array([float("inf"), 0.5], pa.float32()),
        "b": pa.array([b"\x00\xff", None]),
        "t": pa.array(["\u00e4", "NaN"]),
        "d": pa.array([date(2026, 1, 31), None]),
        "p": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "y": pa.array([True, None]),
        "ts": pa.array([TS, TS], pa.timestamp("us", tz="UTC")),
    }
)
COLUMNS = [(name, name) for name in ROWS.column_names]
OPTIONS = {"bootstrapServers": "b:9092", "topic": "t"}

Sent = list[dict[str, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What a producer was given."""
    messages: Sent = []

    class Producer:
        def __init__(self, **settings: Any) -> None:
            pass

        def send(self, topic: str, value: bytes, key: bytes | None = None, **others: Any) -> SimpleNamespace:
            messages.append({"value": value, "key": key, **others})
            return SimpleNamespace(get=lambda timeout: None)

        def flush(self) -> None:
            pass

    monkeypatch.setattr(kafka, "KafkaProducer", Producer)
    return messages


def write(**options: Any) -> None:
    ids = pa.array([b"\x01", b"\x02"])
    KafkaSink({**OPTIONS, **options}, COLUMNS).write(ROWS.append_column("_id", ids), 0, 0, free)


def refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


def test_a_source_reads_what_a_sink_has_written(sent: Sent) -> None:
    write()
    values = [message["value"] for message in sent]
    for value in values:
        json.loads(value, parse_constant=refuse)
    parsed = json_rows.parse(values, ROWS.schema, "ts", None)
    assert parsed.bad == ()
    assert list(map(repr, parsed.rows.to_pylist())) == list(map(repr, ROWS.to_pylist()))


def test_the_key_is_the_row_id_so_that_a_row_written_again_finds_its_partition(sent: Sent) -> None:
    write()
    assert [message["key"] for message in sent] == [b"01", b"02"]
    assert [message["headers"] for message in sent] == [[("weir-row", b"01")], [("weir-row", b"02")]]


def test_columns_may_be_the_key(sent: Sent) -> None:
    write(key=["n", "b"])
    assert [json.loads(message["key"]) for message in sent] == [
        {"n": 1, "b": "AP8="},
        {"n": -(2**63), "b": None},
    ]


def test_a_key_that_is_no_column_is_refused(sent: Sent) -> None:
    with pytest.raises(FragmentError, match=r"options.key\[0\]: no column 'm'"):
        write(key=["m"])
