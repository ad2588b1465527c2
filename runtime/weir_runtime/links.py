"""How far away a fragment's producers are: the round trip of a TCP connection to each, every now and then.

A producer says in its exchange where it answers; its readers connect there, to the port of its metrics. Half
of the quickest round trip is the link's latency.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable

from weir_placement.model.fragment import Input

from weir_runtime.exchanges import reader_of
from weir_runtime.exchanges.ports import ExchangeReader

PERIOD = 30.0
"""[s] between two measurements."""
TRIES = 3
TIMEOUT = 2.0
"""[s]"""


def whereabouts(port: int) -> dict[str, object]:
    """Where this process answers: the pod's address, or that of this machine."""
    return {"host": os.environ.get("POD_IP") or _own_address(), "port": port}


def _own_address() -> str:
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def latency(exchange: ExchangeReader) -> float | None:
    """[s] one way to the producer of an exchange; None when none is announced, or it does not answer."""
    where = exchange.producer()
    if where is None:
        return None
    times = []
    for _ in range(TRIES):
        began = time.perf_counter()
        try:
            socket.create_connection((where["host"], int(where["port"])), TIMEOUT).close()
        except OSError:
            return None
        times.append(time.perf_counter() - began)
    return min(times) / 2.0


def watch(inputs: Iterable[Input], say: Callable[[str, float], None], stop: threading.Event) -> None:
    """Measures every exchange among the inputs in a daemon thread until `stop`; `say(input, seconds)`."""
    exchanges = {item.name: reader_of(item) for item in inputs if item.kind == "exchange"}

    def run() -> None:
        while not stop.is_set():
            for name, exchange in exchanges.items():
                seconds = latency(exchange)
                if seconds is not None:
                    say(name, seconds)
            stop.wait(PERIOD)

    if exchanges:
        threading.Thread(target=run, daemon=True, name="links").start()
