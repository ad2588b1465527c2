"""A process as the holder of its fragment's lease: taking it, the fence of each publish, giving it back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from weir_runtime.change import Share
from weir_runtime.lease import FragmentLease, LeaseRecord, holder_name, owns
from weir_runtime.publish import Fenced
from weir_runtime.renewal import Renewal, now

LOOK = 0.02
"""[s] between two looks at a lease that does not say yet what is asked."""


class Tenure:
    """One epoch's hold of a lease by this process; renewed from when it is acquired until it ends.

    Args:
        duration: [s] after which a lease that was not renewed may be taken.

    Attributes:
        held: whether it was acquired.
        left_in_order: whether whoever had the lease before released it; known once it is acquired.
    """

    def __init__(self, lease: FragmentLease, epoch: int, duration: float) -> None:
        self.held = False
        self.left_in_order = False
        self._lease = lease
        self._epoch = epoch
        self._duration = duration
        self._holder = holder_name()
        self._renewal = Renewal(lease, epoch, self._holder, duration)
        self._closed = threading.Event()

    def acquire(self) -> bool:
        """True when this process has the lease from now on. Raises Fenced when the epoch is over."""
        start, before = now(), self._read()
        if self._lease.acquire(self._epoch, self._holder, self._duration):
            self.left_in_order = before is not None and before.released
            self.held = True
            self._keep(start)
            return True
        if before is not None and before.epoch > self._epoch:
            raise Fenced(f"epoch {self._epoch} is over: the lease says epoch {before.epoch}")
        return False

    def _keep(self, acquired: float) -> None:
        self._renewal.start(acquired)

    def fence(self) -> None:
        """Returns when this process may publish: at once while its lease is confirmed, otherwise when it is
        again. Raises Fenced when it belongs to another, and when this process ends."""
        while self._renewal.wait():
            try:
                record = self._lease.read()
            except OSError:
                self._renewal.wait_for_next()
                continue
            if not owns(record, self._epoch, self._holder):
                self._closed.set()
                raise Fenced(f"the lease says {record}, this is epoch {self._epoch} of {self._holder}")
            if self._renewal.holds():  # last: reading may have taken its time
                return
        raise Fenced(self._words())

    def unconfirmed(self) -> str:
        """Why nothing may be published for now, and nobody has taken the lease either; "" otherwise."""
        return self._renewal.unconfirmed()

    @property
    def lost(self) -> bool:
        """Whether the lease belongs to another holder: its renewal was refused, or the fence says so."""
        return self._renewal.lost.is_set() or self._closed.is_set()

    def check(self) -> None:
        """Raises Fenced when it is lost."""
        if self.lost:
            raise Fenced(self._words())

    def _words(self) -> str:
        return f"the lease says {self._read()}, this is epoch {self._epoch} of {self._holder}"

    def _read(self) -> LeaseRecord | None:
        """None also where nothing is known."""
        try:
            return self._lease.read()
        except OSError:
            return None

    def handed_over(self) -> bool:
        """Whether another epoch is to follow this one."""
        record = self._read()
        return record is not None and record.handover is not None and record.handover != self._epoch

    def is_asked(self) -> bool:
        """Whether the lease asks this epoch for a cut that is not agreed to, or not passed; False where it
        cannot be read."""
        record = self._read()
        if record is None or record.change is None or record.change.passed:
            return False
        return (record.epoch if record.handover is None else record.handover) == self._epoch

    def cut(self) -> int | None:
        """[us] Rows later than this are another plan's; None: nothing is agreed, or it could not be read."""
        record = self._read()
        return record.change.time if record is not None and record.change is not None else None

    def answer(self, share: Share) -> bool:
        """As `Share.look`, for this holder."""
        return share.look(self._lease, self._epoch, self._holder)

    def agree(self, share: Share | None, leave: Callable[[], None]) -> None:
        """Returns when it is known which rows are this plan's: nothing is published before. `leave` is called
        between two looks; it raises when the process must end."""
        while share and not self.answer(share):
            leave()
            time.sleep(LOOK)

    def release(self) -> None:
        """Whoever follows may take the lease at once."""
        self.stop()
        self._lease.release(self._epoch, self._holder)

    def stop(self) -> None:
        """Renews no more: what is not released expires."""
        self._renewal.stop()
