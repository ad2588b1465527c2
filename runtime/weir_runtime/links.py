"""How far away a fragment's producers are: the round trip of a TCP connection to each, every now and then.

A producer writes where it answers into its exchange (`producer.json`); its readers connect there, to the
port of its metrics. Half of the quickest round trip is the link's latency.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from weir_placement.model.fragment import Input

from weir_runtime.names import read_json, write_whole

FILE = "producer.json"
PERIOD = 30.0
"""[s] between two measurements."""
TRIES = 3
TIMEOUT = 2.0
"""[s]"""


def announce(exchange: str, port: int) -> None:
    """Says in the exchange where its producer answers: the pod's address, or that of this machine."""
    host = os.environ.get("POD_IP") or _own_address()
    write_whole(Path(exchange) / FILE, json.dumps({"host": host, "port": port}))


def _own_address() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def latency(exchange: str) -> float | None:
    """[s] one way to the producer of an exchange; None when it has not said where it is, or is not there."""
    where = read_json(Path(exchange) / FILE)
    if where is None:
        return None
    found = []
    for _ in range(TRIES):
        began = time.perf_counter()
        try:
            socket.create_connection((where["host"], int(where["port"])), TIMEOUT).close()
        except OSError:
            return None
        found.append(time.perf_counter() - began)
    return min(found) / 2.0


def watch(inputs: Iterable[Input], say: Callable[[str, float], None], stop: threading.Event) -> None:
    """Measures every exchange among the inputs in a daemon thread until `stop`; `say(input, seconds)`."""
    exchanges = [item for item in inputs if item.kind == "exchange"]

    def run() -> None:
        while not stop.is_set():
            for item in exchanges:
                found = latency(item.exchange)
                if found is not None:
                    say(item.name, found)
            stop.wait(PERIOD)

    if exchanges:
        threading.Thread(target=run, daemon=True, name="links").start()
