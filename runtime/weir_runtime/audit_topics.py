"""The rows of a topic that a sink has written, for the judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from weir_runtime.arrow_types import type_name
from weir_runtime.audit_logs import json_lines
from weir_runtime.kafka_clients import reader_settings

PATIENCE = 30.0
"""[s] for the brokers to answer."""


def topic_rows(options: Mapping[str, Any], schema: pa.Schema) -> tuple[pa.Table, int]:
    """Rows of the committed messages, each row id once, and how many messages have the id of one before."""
    values: dict[object, bytes] = {}
    count = 0
    for message in messages(options):
        headers: Any = message.headers() or []
        values.setdefault(dict(headers).get("weir-row", count), message.value() or b"")
        count += 1
    columns = [(field.name, type_name(field.type)) for field in schema]
    return json_lines(values.values(), columns), count - len(values)


def messages(options: Mapping[str, Any]) -> Iterator[Message]:
    """All of a topic that is committed now, partition by partition. Raises KafkaException."""
    consumer = Consumer(
        {
            **reader_settings(options, "weir-audit"),
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    topic = options["topic"]
    try:
        for number in consumer.list_topics(topic, PATIENCE).topics[topic].partitions:
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING)])
            while (message := consumer.poll(PATIENCE)) is not None and message.error() is None:
                yield message
            if message is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise KafkaException(message.error())
    finally:
        consumer.close()
