"""Brokers that are away for hours cost a process nothing: what is asked in vain leaves no thread behind."""

from __future__ import annotations

import gc
import logging
import socket
import threading
from typing import Any, ClassVar

import pytest
from kafka.errors import KafkaError
from weir_runtime import thread_clients
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


class FakeClient:
    """Of kafka-python, without brokers; `closed` are those that were."""

    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = {"kafka_client": lambda **config: None}
    closed: ClassVar[list[FakeClient]] = []

    def __init__(self, **config: Any) -> None:
        pass

    def close(self) -> None:
        FakeClient.closed.append(self)


def test_clients_of_a_thread_are_closed_when_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a host, attempts at fragments come and go, each with threads of its own."""
    monkeypatch.setattr(under_test, "KafkaAdminClient", FakeClient)
    FakeClient.closed.clear()
    options, go_on = {"bootstrapServers": "127.0.0.1:1"}, threading.Event()

    def use(until: threading.Event) -> None:
        under_test.admin_of(options)
        opened.set()
        until.wait()

    threads = []
    for until in (go_on, threading.Event()):
        opened = threading.Event()
        threads.append(threading.Thread(target=use, args=(until,), daemon=True))
        threads[-1].start()
        assert opened.wait(60)
    go_on.set()
    threads[0].join()
    thread_clients.close_of_ended()
    assert len(FakeClient.closed) == 1
    thread_clients.close_of_ended()
    assert len(FakeClient.closed) == 1, "once, and not that of a thread which runs"
    until.set()
    threads[1].join()
    thread_clients.close_of_ended()
    assert len(FakeClient.closed) == 2
