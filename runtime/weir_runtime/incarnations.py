"""A host's hold of its own lease: one renewal for all fragments that run in it (docs/runtime.md, "Hosts").

The lease's epoch numbers the host's incarnations. One whose renewal was not confirmed in time is over, for
ever: fragments are taken over by a change of their own records, which a late renewal of the host's would not
meet. The host then begins the next one, and each fragment has its record changed to that before it publishes
again.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from dataclasses import dataclass
from typing import Protocol

from weir_placement.model.hosted import HostedHolder

from weir_runtime.lease import Expiry, LeaseRecord, holder_is_gone, holder_name
from weir_runtime.renewal import Renewal, RenewedLease, now

LOOK = 0.1
"""[s] between two looks at an incarnation, or tries to begin one."""


class HostLease(RenewedLease, Protocol):
    """Port: a host's lease, in the form of a fragment's."""

    def read(self) -> LeaseRecord | None:
        """None when no host ever had it. Raises OSError: nothing is known."""

    def swap(self, before: LeaseRecord | None, after: LeaseRecord) -> bool:
        """False: there is something else by now than `before`."""

    def release(self, epoch: int, holder: str) -> bool:
        """Says that nothing of this incarnation runs any more."""


@dataclass(frozen=True)
class Incarnation:
    """One unbroken hold of a host's lease."""

    number: int
    renewal: Renewal


class Incarnations:
    """Those of one process, one after the other.

    Args:
        location: of `lease`, as the records of its fragments name it.
        duration: [s] after which a lease that was not renewed is over.
    """

    def __init__(self, lease: HostLease, location: str, duration: float, holder: str = "") -> None:
        self.location = location
        self._lease = lease
        self._duration = duration
        self._holder = holder or holder_name()
        self._expiry = Expiry()
        self._attempts = itertools.count(1)
        self._present: Incarnation | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="incarnations")
        self._words = "the host does not have its lease yet"

    def start(self) -> None:
        """Once: from here on there is an incarnation whenever there can be one."""
        self._thread.start()

    def stop(self) -> None:
        """There will be none any more, and nothing is renewed; what is not released expires."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._present:
            self._present.renewal.stop()

    def release(self) -> None:
        """At the end, when no query runs any more: whoever follows does not wait."""
        self.stop()
        if self._present:
            self._lease.release(self._present.number, self._holder)

    def next_attempt(self) -> int:
        """A number that no other attempt of this process has."""
        return next(self._attempts)

    def name(self, incarnation: int, attempt: int) -> str:
        """The holder of a fragment's record."""
        return str(HostedHolder(self.location, incarnation, attempt))

    def present(self) -> int | None:
        """The incarnation that is confirmed now, if one is."""
        present = self._present
        return present.number if present and present.renewal.holds() else None

    def wait(self) -> int | None:
        """As `present`, once there is one; None when there will be none."""
        while not self._over.is_set():
            present = self._present
            if present and present.renewal.wait():
                return present.number
            self._over.wait(LOOK)
        return None

    def pause(self) -> None:
        """A moment, before something that nobody answered is asked again."""
        self._over.wait(LOOK)

    def unconfirmed(self) -> str:
        """Why there is none now; "" when there is one, or will be none."""
        present = self._present
        if self._over.is_set() or self.present() is not None:
            return ""
        return (present.renewal.unconfirmed() if present else "") or self._words

    def begin(self) -> bool:
        """Begins the next one if the one before is over; whether it did. Raises OSError: nobody answers."""
        start = now()
        record = self._lease.read()
        if record and not (record.released or record.holder == self._holder or self._is_over(record)):
            self._words = f"the host's lease belongs to {record.holder}"
            return False
        # Where there is no lease one may have been deleted, whose numbers were smaller than this one.
        number = record.epoch + 1 if record else int(time.time())
        if not self._lease.swap(record, LeaseRecord(number, self._holder, time.time(), self._duration)):
            return False
        renewal = Renewal(self._lease, number, self._holder, self._duration, unbroken=True)
        renewal.start(start)
        self._present = Incarnation(number, renewal)
        return True

    def _is_over(self, record: LeaseRecord) -> bool:
        return holder_is_gone(record.holder) or self._expiry.expired(record)

    def _run(self) -> None:
        while not self._over.is_set():
            if self._present is None or self._present.renewal.lost.is_set():
                try:
                    self.begin()
                except OSError as error:
                    self._words = str(error) or repr(error)
                except (
                    Exception
                ) as error:  # whatever it is: there is no incarnation, and nothing is published
                    self._words = repr(error)
                    print(f"the host's lease cannot be taken: {error!r}", file=sys.stderr)
            self._over.wait(LOOK)
