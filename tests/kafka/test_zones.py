"""A topic is led where its producer runs, and comes after it; what fragments leave is removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from weir_operator.controller.decision import Forget
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_runtime.sweep import sweep_topics
from weir_runtime.topic import Topic, admin_of
from weir_runtime.topic_writer import TopicWriter

from tests.kafka.broker import Broker, start_broker
from tests.kafka.test_exchange import batch, commit, free, until, whole, writer


@pytest.fixture
def other(broker: Broker, tmp_path: Path) -> Iterator[Broker]:
    """A second broker, in rack z2. The test that uses it is the last: what else is made meanwhile, positions
    of consumers above all, would lie on it too and be gone with it."""
    found = start_broker(tmp_path / "b2", node=2, rack="z2", after=broker)
    yield found
    found.stop()


def leaders(topic: Topic) -> set[int]:
    (found,) = admin_of(topic.options).describe_topics([topic.name])
    return {partition["leader_id"] for partition in found["partitions"]}


def test_topics_and_positions_of_fragments_that_are_gone_are_removed(broker: Broker) -> None:
    for name in ("weir.a.f1", "weir.a.f2", "weir.b.f1", "weir.ab.f1"):
        topic = Topic(name, broker.options)
        writer(topic).write(batch(1), 0, 0, free)
        commit(topic, "r1", whole(topic)[1])
    brokers = broker.options | {"topicPrefix": "weir."}
    told = sweep_topics(brokers, "a", frozenset({"f2"}))
    assert told == ["removed weir.a.f1", "removed weir.a.r1"]
    until(lambda: not Topic("weir.a.f1", broker.options).exists())
    assert all(Topic(f"weir.{name}", broker.options).exists() for name in ("a.f2", "b.f1", "ab.f1"))
    assert sweep_topics(brokers, "a", frozenset({"f2"})) == []


def test_brokers_that_do_not_answer_leave_the_topics_for_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weir_runtime.topic.BOOTSTRAP_MS", 300)
    nobody = {"bootstrapServers": "127.0.0.1:1", "topicPrefix": "weir."}
    (told,) = sweep_topics(nobody, "a", frozenset())
    assert told.startswith("topics weir.a.* stay: ")
    assert "127.0.0.1:1" in told


def test_a_fragment_that_is_forgotten_takes_its_topic_along(broker: Broker, tmp_path: Path) -> None:
    topic = Topic("mine.default.f9", broker.options)
    writer(topic).write(batch(1), 0, 0, free)
    brokers = {"bootstrapServers": broker.address, "topicPrefix": "mine."}
    policy = {"kind": "PlacementPolicy", "metadata": {"name": "p"}, "spec": {"exchange": {"kafka": brokers}}}
    cluster = LocalCluster(tmp_path, Layout(str(tmp_path)), lambda: [policy])
    cluster.apply(Forget("f", "default/q"))
    assert topic.exists()
    cluster.apply(Forget("f9", "default/q"))
    until(lambda: not topic.exists())


def test_it_is_led_in_its_producers_zone_and_comes_after_it(
    broker: Broker, other: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir_runtime.topic_writer.LOOK", 0.5)  # a broker that has just come may go once more
    one = Topic("weir.default.moves", broker.options)
    two = Topic("weir.default.copies", broker.options | {"replication": 2})
    for topic in (one, two):
        writer(topic).write(batch(1, 2), 0, 0, free)
        assert leaders(topic) == {1}
        moved = TopicWriter(topic, 2, "z2")
        moved.describe({"version": 1, "columns": ["v"]})
        moved.announce({"host": "h", "port": 1})
        until(lambda topic=topic, moved=moved: moved.delete_consumed() == 0 and leaders(topic) == {2})
        moved.write(batch(3), 1, 0, free)
        assert whole(topic)[0] == [1, 2, 3]
        assert topic.lead_in("z2")
        assert topic.lead_in("nowhere"), "no broker is there: it stays"
    admin_of(broker.options).delete_topics([one.name, two.name])
