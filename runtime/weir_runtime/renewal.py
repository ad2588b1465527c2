"""A lease is renewed by a thread that does nothing else: whatever is slow in a process, a store that does not
answer or a batch that does not end, does not cost it the lease."""

from __future__ import annotations

import sys
import threading
import time
from typing import Protocol

RETRY = 1.0
"""[s] at most between two tries while nobody answers."""


def now() -> float:
    """[s] A clock that also goes on while the machine is suspended: another one's does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class RenewedLease(Protocol):
    """What is renewed: a fragment's lease, or a host's."""

    def renew(self, epoch: int, holder: str) -> bool:
        """As of `FragmentLease`."""


class Renewal:
    """From `start` to `stop`, three times in the lease's duration.

    Args:
        lease: one that this holder has.
        duration: [s] of the lease, after the last renewal that was confirmed was begun. From then on another
            one may take it; until one has, it is renewed as before when whoever keeps it answers again.
        unbroken: whether it is lost for ever once a renewal was not confirmed in time: of a lease by which
            others judge what they take elsewhere, so that no renewal is refused when they have.

    Attributes:
        lost: it belongs to somebody else, or its renewals are not unbroken.
    """

    def __init__(
        self, lease: RenewedLease, epoch: int, holder: str, duration: float, unbroken: bool = False
    ) -> None:
        self._lease = lease
        self._epoch = epoch
        self._holder = holder
        self._duration = duration
        self._unbroken = unbroken
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="lease-renewal")
        self._confirmed = float("-inf")  # when the last try that succeeded was begun
        self._tried = threading.Condition()  # notified after each try
        self._words = ""  # why the last try failed
        self.lost = threading.Event()

    def start(self, acquired: float) -> None:
        """Once, with the lease held; it was acquired after `acquired` [s, as `now`]."""
        self._confirmed = acquired
        self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is renewed any more; before a release, for one after it would not be one."""
        self._over.set()
        with self._tried:
            self._tried.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def holds(self) -> bool:
        """Whether the lease is certainly this holder's, now."""
        return now() - self._confirmed < self._duration and not self.lost.is_set()

    def unconfirmed(self) -> str:
        """Why nobody knows whether it still is; "" while it is known."""
        if self._thread.ident is None or self._over.is_set() or self.lost.is_set() or self.holds():
            return ""
        return self._words or "its renewal is not confirmed"

    def wait(self) -> bool:
        """Until the lease is certainly held (True), or lost, or nothing is renewed any more (False)."""
        with self._tried:
            while not (self.lost.is_set() or self._over.is_set()):
                if self.holds():
                    return True
                self._tried.wait()
        return False

    def wait_for_next(self) -> None:
        """Until one more try has ended."""
        with self._tried:
            if not self._over.is_set() and not self.lost.is_set():
                self._tried.wait(self._duration)

    def _run(self) -> None:
        pause = self._duration / 3
        while not self._over.wait(pause):
            self.renew()
            with self._tried:
                self._tried.notify_all()
            if self.lost.is_set():
                return
            pause = min(RETRY, self._duration / 3) if self._words else self._duration / 3

    def _is_broken(self) -> bool:
        """Whether what must be unbroken is not. An answer that came after the end came too late: others may
        have looked before it was written."""
        return self._unbroken and not self.holds()

    def renew(self) -> None:
        """One try."""
        start = now()
        try:
            if (
                not self._is_broken()
                and self._lease.renew(self._epoch, self._holder)
                and not self._is_broken()
            ):
                self._confirmed, self._words = start, ""
            else:
                self.lost.set()
        except OSError as error:  # the API server, or its file system, does not answer
            self._words = str(error) or repr(error)
        except Exception as error:  # whatever it is: the thread goes on, and nothing is published
            self._words = repr(error)
            print(f"the lease cannot be renewed: {error!r}", file=sys.stderr)
