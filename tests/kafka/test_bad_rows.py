"""Messages that cannot be read, on a broker: the query goes on, and they are in another topic."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer
from weir_placement.model.fragment import Input
from weir_runtime.sources import source_log

from tests.kafka.broker import Broker
from tests.runtime.support import source

BAD = [b"", b"null", b'{"k": 1.5}', b'{"k": 1, "v": 2, "ts": 1700000000000}', b"\xff"]


def test_they_go_to_a_topic_as_they_were(broker: Broker, tmp_path: Path) -> None:
    place = {"bootstrapServers": broker.address, "topic": f"rows-{tmp_path.name}"}
    dead = {"bootstrapServers": broker.address, "topic": f"dead-{tmp_path.name}"}
    good = [json.dumps({"k": k, "v": 1.0, "ts": f"2023-11-14T22:13:2{k}Z"}).encode() for k in range(3)]
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for value in [good[0], *BAD, *good[1:]]:
        producer.send(place["topic"], value, partition=0)
    producer.flush()
    item: Input = replace(
        source("a", tmp_path), source={"kafka": place}, bad_rows={"deadLetter": {"kafka": dead}}
    )
    log = source_log(item, str(tmp_path / "late"))
    start = log.advance(log.start(), 0, 64).place
    end = log.advance(start, 0, 64).place
    assert [row["k"] for batch in log.read(start, end) for row in batch.to_pylist()] == [0, 1, 2]
    assert log.bad(start, end) == len(BAD)
    producer.close()
    consumer = KafkaConsumer(
        dead["topic"],
        bootstrap_servers=broker.address,
        auto_offset_reset="earliest",
        consumer_timeout_ms=5000,
    )
    letters = [next(consumer) for _ in BAD]
    consumer.close()
    assert [letter.value for letter in letters] == BAD
    where = f"topic {place['topic']}, partition 0"
    assert [letter.key.decode() for letter in letters] == [f"{where}:{at}" for at in range(1, 6)]
    assert all(dict(letter.headers)["weir-reason"] for letter in letters)
