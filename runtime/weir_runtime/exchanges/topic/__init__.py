"""Exchanges as Kafka topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from kafka.errors import KafkaError
from weir_placement.model.fragment import FragmentError, FragmentSpec
from weir_placement.model.location import Flows, Location

from weir_runtime.exchanges.topic.leftovers import delete_topics
from weir_runtime.exchanges.topic.log import TopicLog
from weir_runtime.exchanges.topic.topic import Topic
from weir_runtime.exchanges.topic.writer import TopicWriter
from weir_runtime.installation import Swept
from weir_runtime.logs.log import Log

LOOK = 0.5
"""[s] between two looks for a flow that has not described itself."""


class TopicReader:
    """A topic."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def description(self) -> Mapping[str, Any] | None:
        """Asks the brokers, and takes its time when it is not there."""
        description: Mapping[str, Any] | None = self._about().get("stream")
        if description is None:
            time.sleep(LOOK)
        return description

    def producer(self) -> Mapping[str, Any] | None:
        """None too when the brokers do not answer."""
        try:
            return self._about().get("producer")
        except (KafkaError, TimeoutError):
            return None

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The topic's batches."""
        return TopicLog(self._topic, schema, consumer, start)

    def _about(self) -> Mapping[str, Any]:
        return self._topic.about() if self._topic.exists() else {}


def reader(flow: Location) -> TopicReader:
    """Of a topic, which may not be there yet."""
    return TopicReader(Topic(flow.address, flow.options))


def writer(flow: Location, spec: FragmentSpec) -> TopicWriter:
    """Of a topic that is led in the fragment's zone."""
    topic = Topic(flow.address, flow.options)
    return TopicWriter(topic, spec.epoch, spec.zone, spec.output.consumers, spec.output.keep)


def remove(
    flows: Flows, root: str, namespace: str, is_gone: Callable[[str], bool], installation: str
) -> Swept:
    """Topics and consumer groups."""
    prefix = flows.below(root, namespace)
    try:
        return delete_topics(flows.options, prefix, is_gone, installation)
    except (KafkaError, FragmentError) as error:
        raise OSError(f"topics {prefix}* are not removed: {error}") from error
