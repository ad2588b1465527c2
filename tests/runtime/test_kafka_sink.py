"""What a sink writes as JSON is JSON, and a source reads it as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kafka
import pyarrow as pa
import pytest
from weir_placement.model.fragment import FragmentError, FragmentSpec, Output
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.kafka_sinks import KafkaSink, kafka_sink
from weir_runtime.logs import json_rows

from tests.runtime.flows import free
from tests.runtime.support import fragment

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
            return SimpleNamespace(get=lambda timeout: SimpleNamespace(offset=0))

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


def ids(sent: Sent, spec: FragmentSpec, plan: str, plain: bool = False) -> set[bytes]:
    """Of two rows that a plan of a query writes, as keys too."""
    sent.clear()
    sink = kafka_sink(spec, plan, COLUMNS)
    if plain:
        sink.keep_plain_ids()
    sink.write(ROWS.append_column("_id", pa.array([b"\x01", b"\x02"])), 0, 0, free)
    assert [[("weir-row", message["key"])] for message in sent] == [message["headers"] for message in sent]
    return {message["key"] for message in sent}


def test_rows_of_two_queries_in_one_topic_have_different_ids(sent: Sent, tmp_path: Path) -> None:
    """Both may be filters over one source, or an edit's two plans: a reader who drops ids that it has seen,
    or a compacted topic, would lose rows of one."""
    spec = fragment(tmp_path, "g", [], [], Output("kafka", options=OPTIONS))
    others = [(replace(spec, query="q2"), "p"), (replace(spec, namespace="n2"), "p"), (spec, "p2")]
    every = [ids(sent, spec, "p"), *(ids(sent, other, plan) for other, plan in others)]
    assert len(set().union(*every)) == 2 * len(every)
    assert ids(sent, spec, "p") == every[0], "the same in each life"
    assert ids(sent, spec, "p", plain=True) == {b"01", b"02"}


def test_what_an_earlier_version_began_keeps_its_ids(tmp_path: Path) -> None:
    """A batch that is run again after the upgrade is known by them."""
    new, older, oldest = (Checkpoint(tmp_path / name) for name in ("new", "older", "oldest"))
    new.numbering()
    assert new.has_own_ids()
    older.folder.mkdir()
    (older.folder / "numbering.json").write_text('{"format": 1, "numbering": "n", "spark": "4.0.0"}')
    (oldest.folder / "offsets").mkdir(parents=True)
    (oldest.folder / "offsets" / "0").touch()
    for checkpoint in (older, oldest):
        checkpoint.numbering()
        assert not checkpoint.has_own_ids()
