"""A Kafka source whose brokers are silent waits and says for what; one that they refuse ends the process."""

from __future__ import annotations

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException
from weir_runtime.kafka_clients import BrokersRefuse
from weir_runtime.sources.kafka.log import KafkaLog
from weir_runtime.sources.kafka.place import TopicLayout

from tests.runtime.test_kafka_ahead import SCHEMA, START, GrowingTopic


class AnsweringTopic(GrowingTopic):
    """Whose brokers answer with an error while there is one."""

    error: KafkaError | None = None

    def layout(self) -> TopicLayout:
        if self.error:
            raise KafkaException(self.error)
        return super().layout()


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> AnsweringTopic:
    """Of the one broker."""
    topic = AnsweringTopic()
    monkeypatch.setattr(KafkaLog, "_reader", lambda log: topic)
    return topic


@pytest.fixture
def log() -> KafkaLog:
    return KafkaLog({"bootstrapServers": "b:9092", "topic": "t"}, pa.schema(SCHEMA), "ts", 0, "")


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    ],
)
def test_a_refusal_is_told(topic: AnsweringTopic, log: KafkaLog, code: int) -> None:
    topic.error = KafkaError(code)
    with pytest.raises(BrokersRefuse, match=r"source\.kafka: topic t on b:9092: .*uth"):
        log.advance(START, 0, 1)


@pytest.mark.parametrize(
    "code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.LEADER_NOT_AVAILABLE]
)
def test_silence_is_waited_for_in_words(topic: AnsweringTopic, log: KafkaLog, code: int) -> None:
    topic.error = KafkaError(code)
    away = log.advance(START, 5, 1)
    assert (away.place, away.clock, away.ended) == (START, 5, False)
    assert away.waits.startswith("source.kafka: topic t on b:9092: ")
    topic.error = None
    there = log.advance(START, 5, 1)
    assert there.place != START
    assert there.waits == ""
