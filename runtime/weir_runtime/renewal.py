"""A lease is renewed by a thread that does nothing else: whatever is slow in a process, a store that does not
answer or a batch that does not end, does not cost it the lease."""

from __future__ import annotations

import threading
import time

from weir_runtime.lease import FragmentLease


class Renewal:
    """From `start` to `stop`, three times in the lease's duration.

    Args:
        lease: one that this holder has.
        duration: [s] of the lease: where renewing fails for so long, it is lost.

    Attributes:
        lost: it belongs to somebody else, or may.
    """

    def __init__(self, lease: FragmentLease, epoch: int, holder: str, duration: float) -> None:
        self._lease = lease
        self._epoch = epoch
        self._holder = holder
        self._duration = duration
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="lease-renewal")
        self.lost = threading.Event()

    def start(self) -> None:
        """Once, with the lease held."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is renewed any more; before a release, for one after it would not be one."""
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        confirmed = time.monotonic()
        while not self._over.wait(self._duration / 3):
            begun = time.monotonic()
            try:
                renewed = self._lease.renew(self._epoch, self._holder)
            except OSError:  # its file system is away: another one's may be too, so nobody takes it before
                renewed = begun - confirmed < self._duration
            else:
                confirmed = begun
            if not renewed:
                self.lost.set()
                return
