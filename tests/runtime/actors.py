"""Code with threads, run one step at a time: a test says who goes on, and who stands still for how long."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Ended(BaseException):
    """Raised where an actor that was killed stands: nothing of it happens any more."""


class Actor:
    """A thread that stops at every `turn` until the test lets it go on."""

    def __init__(self, body: Callable[[], None]) -> None:
        self.over = False
        self._body = body
        self._go = threading.Semaphore(0)
        self._stands = threading.Semaphore(0)
        self._ends = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Until it next stands, or is over; raises what it has raised."""
        if self.over:
            return
        self._go.release()
        self._stands.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def end(self) -> None:
        """As by SIGKILL, but for what its `finally` do."""
        self._ends = True
        while not self.over:
            self.step()

    def stand(self) -> None:
        """Called by the actor itself."""
        if self._ends:
            raise Ended
        self._stands.release()
        self._go.acquire()
        if self._ends:
            raise Ended

    def _run(self) -> None:
        self._go.acquire()
        _local.actor = self
        try:
            if not self._ends:
                self._body()
        except Ended:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.over = True
            self._stands.release()


_local = threading.local()


def turn() -> None:
    """Another one may go on here; nothing outside of actors."""
    actor: Actor | None = getattr(_local, "actor", None)
    if actor is not None:
        actor.stand()


class TurnEvent(threading.Event):
    """Waiting for it is a turn, however long."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it is set after the turn; without a time after as many as it takes."""
        turn()
        while timeout is None and not self.is_set():
            turn()
        return self.is_set()


class TurnCondition(threading.Condition):
    """Waiting for it is a turn."""

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        pass

    def wait(self, timeout: float | None = None) -> bool:
        """Whoever waits looks again."""
        turn()
        return True

    def notify_all(self) -> None:
        """Everybody looks anyway."""
