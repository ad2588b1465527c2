"""A topic is led where its producer runs, and comes after it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from kafka.errors import KafkaError
from weir_runtime.exchanges.topic.topic import STALLED, Topic, admin_of
from weir_runtime.exchanges.topic.writer import TopicWriter

from tests.kafka.broker import Broker, start_broker
from tests.kafka.test_exchange import until, whole, writer
from tests.runtime.flows import batch, free

MOVED = 3 * STALLED
"""[s] A move that does not end is taken back after STALLED, and begins anew."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """The first of two brokers, in racks z1 and z2. Its own: one that is gone stays known to the other."""
    first = start_broker(tmp_path / "b1")
    try:
        second = start_broker(tmp_path / "b2", node=2, rack="z2", after=first)
        yield first
        second.stop()
    finally:
        first.stop()


def leaders(topic: Topic) -> set[int]:
    (description,) = admin_of(topic.options).describe_topics([topic.name])
    return {partition["leader_id"] for partition in description["partitions"]}


def led_in(topic: Topic, zone: str) -> bool:
    """Brokers that do not answer at once are asked again, as their producer does."""
    try:
        return topic.lead_in(zone)
    except KafkaError:
        return False


def test_it_is_led_in_its_producers_zone_and_comes_after_it(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # by its module: of the package, `writer` is a function
    monkeypatch.setattr(import_module("weir_runtime.exchanges.topic.writer"), "LOOK", 0.5)
    one = Topic("weir.default.moves", broker.options)
    two = Topic("weir.default.copies", broker.options | {"replication": 2})
    for topic in (one, two):
        writer(topic).write(batch(1, 2), 0, 0, free)
        assert leaders(topic) == {1}
        moved = TopicWriter(topic, 2, "z2")
        moved.describe({"version": 1, "columns": ["v"]})
        moved.announce({"host": "h", "port": 1})
        until(lambda topic=topic, moved=moved: moved.delete_consumed() == 0 and leaders(topic) == {2}, MOVED)
        moved.write(batch(3), 1, 0, free)
        assert whole(topic)[0] == [1, 2, 3]
        until(lambda topic=topic: led_in(topic, "z2"), MOVED)  # each broker learns of it by itself
        until(lambda topic=topic: led_in(topic, "nowhere"))  # no broker is there: it stays
    admin_of(broker.options).delete_topics([one.name, two.name])
