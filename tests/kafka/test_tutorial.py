"""The section of docs/tutorial.md that needs a broker."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kafka.broker import Broker
from tests.kafka.topics import Topic
from tests.tutorial.steps import ROOT, run, sections


def test_the_tutorial_with_a_topic(broker: Broker, tmp_path: Path) -> None:
    """Orders of two hours: rows of the first windows come without an end of the topic."""
    times = [f"2026-01-31T{12 + i // 60}:{i % 60:02d}:00Z" for i in range(120)]
    orders = [{"id": i, "customer": f"c{i % 4}", "created": time} for i, time in enumerate(times)]
    Topic(broker, "orders").send_values([json.dumps(order).encode() for order in orders])
    (section,) = [s for s in sections(ROOT / "docs" / "tutorial.md") if s.needs == "kafka"]
    run(section, tmp_path, {"localhost:9092": broker.address})
