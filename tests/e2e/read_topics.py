"""Prints every message that is in the topics now, in order: a JSON line [topic, headers, value] each.

The tests run it in a pod of the flights image, by its text: `python - TOPIC...`. A topic that is not there
has no messages.
"""

from __future__ import annotations

import json
import sys

from kafka import KafkaConsumer, TopicPartition


def read(names: list[str]) -> None:
    """All messages, to standard output."""
    consumer = KafkaConsumer(bootstrap_servers="kafka:9092", enable_auto_commit=False, check_crcs=False)
    parts = [
        TopicPartition(name, number) for name in names for number in consumer.partitions_for_topic(name) or ()
    ]
    ends = consumer.end_offsets(parts) if parts else {}
    consumer.assign(parts)
    if parts:
        consumer.seek_to_beginning(*parts)
    while any(consumer.position(part) < end for part, end in ends.items()):
        for part, messages in consumer.poll(timeout_ms=1_000, max_records=10_000).items():
            for message in messages:
                if message.offset < ends[part]:
                    headers = ",".join(f"{key}:{(value or b'').decode()}" for key, value in message.headers)
                    print(json.dumps([part.topic, headers, message.value.decode()]))


if __name__ == "__main__":
    read(sys.argv[1:])
