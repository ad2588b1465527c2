"""A reader measures the way to the producer of its exchange, wherever that is now."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from weir_placement.model.fragment import Input
from weir_placement.model.location import Location
from weir_runtime.exchanges.folder import FolderReader
from weir_runtime.exchanges.folder.writer import FolderWriter
from weir_runtime.links import latency, watch, whereabouts
from weir_runtime.names import PRODUCER


def announce(folder: Path, port: int) -> None:
    FolderWriter(str(folder), 1).announce(whereabouts(port))


@pytest.fixture
def producer(tmp_path):
    server = socket.create_server(("", 0))
    announce(tmp_path, server.getsockname()[1])
    yield tmp_path
    server.close()


def test_is_half_of_a_round_trip(producer):
    seconds = latency(FolderReader(str(producer)))
    assert seconds is not None
    assert 0.0 < seconds < 1.0


def test_says_nothing_of_a_producer_that_has_not_said_where_it_is_or_is_gone(tmp_path):
    assert latency(FolderReader(str(tmp_path))) is None
    with socket.create_server(("", 0)) as server:
        announce(tmp_path, server.getsockname()[1])
    assert (tmp_path / PRODUCER).exists()
    assert latency(FolderReader(str(tmp_path))) is None


def test_a_producer_that_moved_is_measured_where_it_is_now(producer):
    with socket.create_server(("", 0)) as other:
        announce(producer, other.getsockname()[1])
        assert latency(FolderReader(str(producer))) is not None
        other.settimeout(5.0)
        other.accept()[0].close()


def test_only_exchanges_are_watched(producer):
    waits, process, stop = {}, threading.Event(), threading.Event()

    def say(name: str, seconds: float) -> None:
        waits[name] = seconds
        process.set()

    inputs = (Input("s", "source"), Input("f", "exchange", flow=Location("folder", str(producer))))
    watch(inputs, say, stop)
    assert process.wait(10.0)
    stop.set()
    assert set(waits) == {"f"}
