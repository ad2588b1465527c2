"""A sample of a Kafka topic's messages."""

from __future__ import annotations

from urllib.parse import urlsplit

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from weir_runtime.kafka_clients import in_words, reader_settings, silent_logger

from weir_operator.sampling.sample import SampleContent, of_lines
from weir_operator.sampling.sample_error import SampleError

MOST = 10_000
"""Messages of a topic that are read."""
PATIENCE = 10.0
"""[s] for the brokers to answer, and for the next message."""


def brokers_and_topic(url: str) -> tuple[str, str]:
    """Of `kafka://HOST:PORT[,HOST:PORT...]/TOPIC`. Raises SampleError."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic:
        raise SampleError(f"{url}: write kafka://HOST:PORT/TOPIC")
    return parts.netloc, topic


def read_topic(url: str) -> SampleContent:
    """The oldest messages of each partition, as JSON objects. Raises SampleError."""
    brokers, topic = brokers_and_topic(url)
    settings = reader_settings({"bootstrapServers": brokers}, "weir-init")
    consumer = Consumer({**settings, "enable.partition.eof": True}, logger=silent_logger())
    try:
        description = consumer.list_topics(topic, PATIENCE).topics[topic]
        if description.error is not None or not description.partitions:
            raise SampleError(f"{url}: {description.error or 'no partition'}")
        values: list[bytes] = []
        times: list[int] = []
        consumer.assign(
            [TopicPartition(topic, number, OFFSET_BEGINNING) for number in description.partitions]
        )
        ends = 0
        while len(values) < MOST and ends < len(description.partitions):
            message = consumer.poll(PATIENCE)
            if message is None:
                break
            if message.error() is not None:
                ends += 1
                continue
            values.append(message.value() or b"")
            times.append(message.timestamp()[1])
    except KafkaException as error:
        raise SampleError(f"{url}: {in_words(error, brokers)}") from error
    finally:
        consumer.close()
    if not values:
        raise SampleError(f"{url}: the topic has no messages; send some first")
    return of_lines(values, url, (max(times) - min(times)) / 1000)
