"""Brokers that are away for hours cost a process nothing: what is asked in vain leaves no thread behind."""

from __future__ import annotations

import gc
import logging
import socket
import threading

import pytest
from kafka.errors import KafkaError
from weir_runtime.exchanges.topic import topic as under_test
from weir_runtime.exchanges.topic.topic import Topic


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # a refused connection's own socket
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_clients_that_find_no_broker_are_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each left a thread and its files: after 20 minutes without a broker a process could open no more."""
    monkeypatch.setattr(under_test, "BOOTSTRAP_MS", 50)
    caplog.set_level(logging.CRITICAL, "kafka")  # records keep the sockets that they name
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    topic = Topic("weir.default.f", {"bootstrapServers": f"127.0.0.1:{port}"})
    before = threading.active_count()
    for _ in range(3):
        for question in (topic.exists, lambda: topic.beyond(0)):
            with pytest.raises(KafkaError, match=f"127.0.0.1:{port}") as error:
                question()
            assert error.value.retriable
    assert threading.active_count() <= before
    del error
    gc.collect()
