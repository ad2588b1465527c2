"""What fragments leave on the brokers is removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from weir_operator.controller.decision import CleanUp
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_placement.model.location import Flows
from weir_runtime.exchanges.topic.topic import Topic
from weir_runtime.sweep import sweep_flows

from tests.kafka.broker import Broker
from tests.kafka.test_exchange import commit, until, whole, writer
from tests.runtime.flows import batch, free


def test_topics_and_positions_of_fragments_that_are_gone_are_removed(broker: Broker) -> None:
    for name in ("weir.a.f1", "weir.a.f2", "weir.b.f1", "weir.ab.f1"):
        topic = Topic(name, broker.options)
        writer(topic).write(batch(1), 0, 0, free)
        commit(topic, "r1", whole(topic)[1])
    topics = Flows("topic", "weir.{namespace}.{fragment}", broker.options)
    messages = sweep_flows(topics, Path("/nonexistent"), "a", frozenset({"f2"}))
    assert messages == ["removed weir.a.f1", "removed weir.a.r1"]
    until(lambda: not Topic("weir.a.f1", broker.options).exists())
    assert all(Topic(f"weir.{name}", broker.options).exists() for name in ("a.f2", "b.f1", "ab.f1"))
    assert sweep_flows(topics, Path("/nonexistent"), "a", frozenset({"f2"})) == []


def test_brokers_that_do_not_answer_leave_the_topics_for_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weir_runtime.exchanges.topic.topic.BOOTSTRAP_MS", 300)
    nobody = Flows("topic", "weir.{namespace}.{fragment}", {"bootstrapServers": "127.0.0.1:1"})
    (told,) = sweep_flows(nobody, Path("/nonexistent"), "a", frozenset())
    assert told.startswith("topics weir.a.* stay: ")
    assert "127.0.0.1:1" in told


def test_a_fragment_that_is_forgotten_takes_its_topic_along(broker: Broker, tmp_path: Path) -> None:
    topic = Topic("mine.default.f9", broker.options)
    writer(topic).write(batch(1), 0, 0, free)
    brokers = {"bootstrapServers": broker.address, "topicPrefix": "mine."}
    policy = {"kind": "PlacementPolicy", "metadata": {"name": "p"}, "spec": {"exchange": {"kafka": brokers}}}
    cluster = LocalCluster(tmp_path, Layout(str(tmp_path)), lambda: [policy])
    cluster.apply(CleanUp("f", "default/q"))
    assert topic.exists()
    cluster.apply(CleanUp("f9", "default/q"))
    until(lambda: not topic.exists())
