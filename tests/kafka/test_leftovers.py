"""What fragments leave on the brokers is removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError
from weir_operator.controller.decision import CleanUp
from weir_operator.local.cluster import LocalCluster
from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentError
from weir_placement.model.location import Flows
from weir_runtime.exchanges.topic.topic import Topic, admin_of
from weir_runtime.exchanges.topic.writer import TopicWriter
from weir_runtime.installation import VARIABLE, Swept, of_run
from weir_runtime.sweep import sweep_flows

from tests.kafka.broker import Broker
from tests.kafka.test_exchange import commit, until, whole, writer
from tests.runtime.flows import batch, free


def test_topics_and_positions_of_fragments_that_are_gone_are_removed(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "east")
    for name in ("weir.a.f1", "weir.a.f2", "weir.b.f1", "weir.ab.f1"):
        topic = Topic(name, broker.options)
        writer(topic).write(batch(1), 0, 0, free)
        commit(topic, "r1", whole(topic)[1])
    swept = swept_of(broker, "weir.", "east", "f2")
    assert swept == Swept(["weir.a.f1", "weir.a.r1"])
    until(lambda: not Topic("weir.a.f1", broker.options).exists())
    assert all(Topic(f"weir.{name}", broker.options).exists() for name in ("a.f2", "b.f1", "ab.f1"))
    assert swept_of(broker, "weir.", "east", "f2") == Swept()


def test_no_client_makes_a_topic_that_it_asks_for(broker: Broker) -> None:
    """A topic that was deleted came back, of one partition, while its producer and readers still lived."""
    topic = Topic("weir.a.none", broker.options)
    with pytest.raises(KafkaError):
        topic.beyond(0)
    out = TopicWriter(topic, 1)
    for client in (topic._consumer(0)._client, out._producer()._sender._client):
        assert not client.cluster.metadata_request().allow_auto_topic_creation
    out.close()
    assert not topic.exists()


def test_of_two_installations_and_a_user_at_one_kafka_none_loses_anything(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both clusters have a namespace a; the user has topics of Weir's prefix, of one and of three partitions;
    what a version before has made says nothing."""
    for own, name in (("east", "f1"), ("west", "f2"), ("", "f3")):
        monkeypatch.setenv(VARIABLE, own)
        topic = Topic(f"both.a.{name}", broker.options)
        writer(topic).write(batch(1), 0, 0, free)
        commit(topic, f"r-{name}", whole(topic)[1])
    admin = admin_of(broker.options)
    admin.create_topics({"both.a.x": {"num_partitions": 1, "replication_factor": 1}})
    admin.create_topics({"both.a.y": {"num_partitions": 3, "replication_factor": 1}})
    producer = KafkaProducer(bootstrap_servers=broker.address)
    for value in (b"mine", b'{"owner": {"installation": "east"}}'):
        producer.send("both.a.y", value, partition=2)
    producer.flush()
    producer.close()

    assert swept_of(broker, "both.", "east") == Swept(
        ["both.a.f1", "both.a.r-f1"],
        [
            "both.a.f2: installation west has it",
            "both.a.f3: nothing says whose it is",
            "both.a.r-f2: installation west has it",
            "both.a.r-f3: nothing says whose it is",
            "both.a.x: nothing says whose it is",
            "both.a.y: nothing says whose it is",
        ],
    )
    until(lambda: not Topic("both.a.f1", broker.options).exists())
    left = [Topic(f"both.a.{name}", broker.options) for name in ("f2", "f3", "x", "y")]
    assert all(topic.exists() for topic in left)

    monkeypatch.setenv(VARIABLE, "east")
    writer(Topic("both.a.f5", broker.options))
    monkeypatch.setenv(VARIABLE, "west")
    with pytest.raises(FragmentError, match=r"topic both\.a\.f5: it belongs to installation east"):
        writer(Topic("both.a.f5", broker.options))
    assert writer(left[1]).owner() == "west", "its own writer takes what an earlier version made"
    assert "both.a.f3" in swept_of(broker, "both.", "west").gone


def swept_of(broker: Broker, prefix: str, installation: str, *keep: str) -> Swept:
    """Of namespace a."""
    topics = Flows("topic", f"{prefix}{{namespace}}.{{fragment}}", broker.options)
    return sweep_flows(topics, Path("/nonexistent"), "a", frozenset(keep), installation)


def test_brokers_that_do_not_answer_leave_the_topics_for_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("weir_runtime.exchanges.topic.topic.BOOTSTRAP_MS", 300)
    nobody = Flows("topic", "weir.{namespace}.{fragment}", {"bootstrapServers": "127.0.0.1:1"})
    (line,) = sweep_flows(nobody, Path("/nonexistent"), "a", frozenset(), "east").left
    assert line.startswith("topics weir.a.* are not removed: ")
    assert "127.0.0.1:1" in line


def test_a_fragment_that_is_forgotten_takes_its_topic_along(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, of_run(tmp_path))
    topic = Topic("mine.default.f9", broker.options)
    writer(topic).write(batch(1), 0, 0, free)
    brokers = {"bootstrapServers": broker.address, "topicPrefix": "mine."}
    policy = {"kind": "PlacementPolicy", "metadata": {"name": "p"}, "spec": {"exchange": {"kafka": brokers}}}
    cluster = LocalCluster(tmp_path, Layout(str(tmp_path)), lambda: [policy])
    cluster.apply(CleanUp("f", "default/q"))
    assert topic.exists()
    cluster.apply(CleanUp("f9", "default/q"))
    until(lambda: not topic.exists())
