"""Servers that do not answer: brokers, an object store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # every task's worker would load them
    from weir_runtime.metrics import Metrics
    from weir_runtime.status import ProcessStatus

Answer = TypeVar("Answer")

LOOK = 0.5
"""[s] between two questions; who asks waits for an answer besides."""

PATIENCE = 60.0
"""[s] for which a running query asks; then it ends, and its next start asks and says so."""


class ServersAway(Exception):
    """No answer: it may come when asked again."""

    retriable = True


def is_unreachable(error: Exception) -> bool:
    """Whether whoever can wait asks again. `retriable` is as the errors of kafka-python have it."""
    return isinstance(error, TimeoutError) or bool(getattr(error, "retriable", False))


def read_again(read: Callable[[], Iterator[Answer]]) -> Iterator[Answer]:
    """What `read` gives; begun anew while servers are silent and nothing has come, for `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answers = read()
        try:
            first = next(answers)
        except StopIteration:
            return
        except Exception as error:
            if not is_unreachable(error) or time.monotonic() >= deadline:
                raise
            time.sleep(LOOK)
        else:
            yield first
            yield from answers
            return


class Patient:
    """At a start: asks until there is an answer, as readers of sources do while they run. Says meanwhile what
    it waits for: in the state file and by `weir_unreachable`.

    Args:
        leave: called between two questions; raises when the process must end.
    """

    def __init__(self, status: ProcessStatus, metrics: Metrics, leave: Callable[[], None]) -> None:
        self._status = status
        self._gauge = metrics.unreachable.labels(**metrics.plain)
        self._leave = leave
        self._waits = False

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """What `question` gives; its own error when that is not silence."""
        while True:
            try:
                answer = question()
            except Exception as error:
                if not is_unreachable(error):
                    raise
                self._say(f"{type(error).__name__}: {error}")
            else:
                self._say("")
                return answer
            self._leave()
            time.sleep(LOOK)

    def _say(self, waits: str) -> None:
        self._gauge.set(bool(waits))
        if bool(waits) != self._waits:
            self._waits = bool(waits)
            self._status.wait_for("servers", waits)
