"""Exchanges between fragments: a folder of files, objects where the spec has a store's URI, or a Kafka topic
where it names brokers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from weir_placement.model.fragment import STORE, FragmentSpec, Input

from weir_runtime.logs.exchange_log import ExchangeLog
from weir_runtime.logs.log import Log
from weir_runtime.names import PRODUCER, read_json
from weir_runtime.publish import ExchangeWriter, FolderWriter

LOOK = 0.5
"""[s] between two questions to brokers or a store for a flow that has not described itself."""


class Exchange(Protocol):
    """The reading side."""

    def description(self) -> Mapping[str, Any] | None:
        """What the producer's plan is (docs/runtime.md); None as long as it has not said so."""

    def producer(self) -> Mapping[str, Any] | None:
        """`host` and `port` at which the producer that writes answers; None when it has not said so."""

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The batches from `start` on."""


class FolderExchange:
    """Files."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def description(self) -> Mapping[str, Any] | None:
        """Of `stream.json`."""
        return read_json(Path(self._folder) / "stream.json")

    def producer(self) -> Mapping[str, Any] | None:
        """Of `producer.json`."""
        return read_json(Path(self._folder) / PRODUCER)

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The numbered files."""
        return ExchangeLog(self._folder, schema, consumer, start)


class StoreExchange:
    """Objects; their client is imported where one is used."""

    def __init__(self, uri: str, options: Mapping[str, Any]) -> None:
        from weir_runtime.store import Store

        self._store = Store(uri, options)

    def description(self) -> Mapping[str, Any] | None:
        """Of `stream.json`; takes its time when it is not there."""
        found = self._store.read_json("stream.json")
        if found is None:
            time.sleep(LOOK)
        return found

    def producer(self) -> Mapping[str, Any] | None:
        """Of `producer.json`; None too when the store does not answer."""
        from weir_runtime.store import StoreError

        try:
            return self._store.quick().read_json(PRODUCER)
        except StoreError:
            return None

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The numbered objects."""
        from weir_runtime.logs.store_log import StoreLog

        return StoreLog(self._store, schema, consumer, start)


class TopicExchange:
    """A Kafka topic; its clients are imported where one is used."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        from weir_runtime.topic import Topic

        self._topic = Topic(name, options)

    def description(self) -> Mapping[str, Any] | None:
        """Asks the brokers, and takes its time when it is not there."""
        found = self._about().get("stream")
        if found is None:
            time.sleep(LOOK)
        return found

    def producer(self) -> Mapping[str, Any] | None:
        """None too when the brokers do not answer."""
        from kafka.errors import KafkaError

        try:
            return self._about().get("producer")
        except (KafkaError, TimeoutError):
            return None

    def log(self, schema: pa.Schema, consumer: str, start: int) -> Log:
        """The topic's batches."""
        from weir_runtime.logs.topic_log import TopicLog

        return TopicLog(self._topic, schema, consumer, start)

    def _about(self) -> Mapping[str, Any]:
        return self._topic.about() if self._topic.exists() else {}


def exchange_of(item: Input) -> Exchange:
    """What an input of kind `exchange` reads."""
    if item.exchange.startswith(STORE):
        return StoreExchange(item.exchange, item.options)
    return TopicExchange(item.exchange, item.options) if item.options else FolderExchange(item.exchange)


def exchange_writer(spec: FragmentSpec) -> ExchangeWriter:
    """Where a fragment whose output is an exchange publishes."""
    output = spec.output
    if output.uri.startswith(STORE):
        from weir_runtime.store import Store
        from weir_runtime.store_writer import StoreWriter

        return StoreWriter(Store(output.uri, output.options), spec.epoch, output.consumers, output.keep)
    if not output.options:
        return FolderWriter(output.uri, spec.epoch, output.consumers, output.keep)
    from weir_runtime.topic import Topic
    from weir_runtime.topic_writer import TopicWriter

    topic = Topic(output.uri, output.options)
    return TopicWriter(topic, spec.epoch, spec.zone, output.consumers, output.keep)
