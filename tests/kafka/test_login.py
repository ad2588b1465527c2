"""Brokers that ask who one is: TLS by an authority of their own, user and password from files of Secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from kafka.errors import KafkaError
from weir_runtime import secrets
from weir_runtime.compiler import ID
from weir_runtime.exchanges.topic.log import TopicLog
from weir_runtime.exchanges.topic.topic import Topic
from weir_runtime.exchanges.topic.writer import TopicWriter
from weir_runtime.kafka_clients import BrokersRefuse
from weir_runtime.kafka_sinks import KafkaSink
from weir_runtime.sources.kafka.log import KafkaLog

from tests.kafka import login
from tests.kafka.broker import Broker
from tests.runtime.flows import DESCRIPTION, SCHEMA, batch, free

Options = Callable[..., dict[str, Any]]


@pytest.fixture
def options(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Options:
    """What a fragment is told of a broker that wants a log-in, and its Secrets as files."""
    monkeypatch.setattr(secrets, "FOLDER", tmp_path)

    def told(mechanism: str, password: str = login.PASSWORD, trusted: Path | None = None) -> dict[str, Any]:
        of_user, of_authority = f"user-{mechanism.lower()}-{len(password)}", f"ca-{trusted is None}"
        for name, values in {
            of_user: {"username": login.USER, "password": f"{password}\n"},
            of_authority: {"ca.crt": (trusted or broker.authority).read_text()},
        }.items():
            (tmp_path / name).mkdir(exist_ok=True)
            for key, value in values.items():
                (tmp_path / name / key).write_text(value)
        security = {"protocol": "SASL_SSL", "mechanism": mechanism}
        security |= {"secretRef": of_user, "caSecretRef": of_authority}
        return {"bootstrapServers": f"127.0.0.1:{broker.secure}", "security": security}

    return told


@pytest.mark.parametrize("mechanism", login.MECHANISMS)
def test_a_flow_goes_through(options: Options, mechanism: str) -> None:
    topic = Topic(f"weir.default.login-{mechanism.lower()}", options(mechanism))
    writer = TopicWriter(topic, 1, "z1")
    writer.describe(DESCRIPTION)
    writer.write(batch(1, 2), 0, 2, free)
    log = TopicLog(topic, SCHEMA, "r")
    start = log.start()
    end = log.advance(start, 0, 10).place
    assert [v for part in log.read(start, end) for v in part.column(0).to_pylist()] == [1, 2]


@pytest.mark.parametrize("mechanism", login.MECHANISMS)
def test_a_sink_is_written_and_a_source_read(options: Options, mechanism: str) -> None:
    named = options(mechanism) | {"topic": f"rows-{mechanism.lower()}"}
    ids = pa.array([b"a", b"b"], pa.binary())
    rows = pa.table({"v": [1, 2], "ts": ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"], ID: ids})
    KafkaSink(named, [("v", "v"), ("ts", "ts")]).write(rows, 0, 0, free)
    schema = pa.schema([("v", pa.int64()), ("ts", pa.timestamp("us", tz="UTC"))])
    log = KafkaLog(named, schema, "ts", 0, "")
    start = log.advance(log.start(), 0, 10).place
    end = log.advance(start, 0, 10).place
    assert [v for part in log.read(start, end) for v in part.column("v").to_pylist()] == [1, 2]


def test_a_wrong_password_is_told(options: Options) -> None:
    wrong = Topic("weir.default.nobody", options("SCRAM-SHA-512", "guessed"))
    with pytest.raises(KafkaError, match=r"exchange\.kafka: 127\.0\.0\.1"):
        wrong.exists()


@pytest.mark.parametrize("mechanism", login.MECHANISMS)
def test_a_source_with_a_wrong_password_is_told(options: Options, mechanism: str) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", tz="UTC"))])
    log = KafkaLog(options(mechanism, "guessed") | {"topic": "t"}, schema, "ts", 0, "")
    with pytest.raises(BrokersRefuse, match=r"source\.kafka: topic t on 127.*Authentication failed"):
        log.advance(log.start(), 0, 1)


def test_a_broker_that_another_authority_vouches_for_is_not_believed(
    options: Options, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    foreign = Topic("weir.default.foreign", options("PLAIN", trusted=login.authority(other)))
    with pytest.raises(KafkaError, match=r"exchange\.kafka: 127\.0\.0\.1"):
        foreign.exists()


def test_secrets_stay_out_of_what_a_fragment_is_told(options: Options) -> None:
    assert login.PASSWORD not in json.dumps(options("PLAIN"))
