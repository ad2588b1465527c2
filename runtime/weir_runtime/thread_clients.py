"""Clients that a thread keeps for itself, as of kafka-python, which must not be shared: each has a thread and
files of its own, so nobody collects it. They are closed here once the thread that used them has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable

_opened: list[tuple[threading.Thread, Callable[[], None]]] = []
_lock = threading.Lock()


def keep(close: Callable[[], None]) -> None:
    """The calling thread has a client which `close` closes."""
    with _lock:
        _opened.append((threading.current_thread(), close))


def close_of_ended() -> None:
    """Closes those of threads that have ended. Of a process with one fragment nobody need call it."""
    with _lock:
        ended = [item for item in _opened if not item[0].is_alive()]
        _opened[:] = [item for item in _opened if item[0].is_alive()]
    for _, close in ended:
        close()
