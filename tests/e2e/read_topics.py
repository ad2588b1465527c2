"""Prints every message that is in the topics now, in order: a JSON line [topic, headers, value] each, all of
them compressed, since `kubectl exec` costs every part of the cluster more for a byte than this does.

The tests run it in a pod of the flights image, by its text: `python - TOPIC...`. A topic that is not there
has no messages.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from collections.abc import Iterator

from kafka import KafkaConsumer, TopicPartition


def read(names: list[str]) -> Iterator[str]:
    """All messages."""
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
                    yield json.dumps([part.topic, headers, message.value.decode()])


if __name__ == "__main__":
    packed = zlib.compress("\n".join(read(sys.argv[1:])).encode(), level=1)
    print(base64.b64encode(packed).decode())
