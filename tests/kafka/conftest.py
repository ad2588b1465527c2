"""One broker for all tests here, and a topic of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from weir_runtime.exchanges.topic.topic import Topic

from tests.kafka.broker import Broker, start_broker

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """In rack z1."""
    server = start_broker(tmp_path_factory.mktemp("kafka") / "b1")
    yield server
    server.stop()


@pytest.fixture
def topic(broker: Broker) -> Topic:
    """Not made yet."""
    return Topic(f"weir.default.f{next(_numbers)}", broker.options)
