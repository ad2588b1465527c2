"""The section of docs/tutorial.md that needs a broker."""

from __future__ import annotations

import json
from pathlib import Path

from confluent_kafka import Producer

from tests.kafka.broker import Broker
from tests.tutorial.steps import ROOT, run, sections


def test_the_tutorial_with_a_topic(broker: Broker, tmp_path: Path) -> None:
    """Orders of two hours: rows of the first windows come without an end of the topic."""
    producer = Producer({"bootstrap.servers": broker.address})
    for i in range(120):
        order = {"id": i, "customer": f"c{i % 4}", "created": f"2026-01-31T{12 + i // 60}:{i % 60:02d}:00Z"}
        producer.produce("orders", json.dumps(order))
    assert producer.flush(30) == 0
    (section,) = [s for s in sections(ROOT / "docs" / "tutorial.md") if s.needs == "kafka"]
    run(section, tmp_path, {"localhost:9092": broker.address})
