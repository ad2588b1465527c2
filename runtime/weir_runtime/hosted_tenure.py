"""An attempt at a fragment in a host as the holder of the fragment's lease."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Protocol

from weir_runtime.incarnations import Incarnations
from weir_runtime.lease import FragmentLease, LeaseRecord, owns
from weir_runtime.publish import Fenced
from weir_runtime.tenure import Tenure


class SwappedLease(FragmentLease, Protocol):
    """A fragment's lease that can be changed from one known record to another."""

    def swap(self, before: LeaseRecord | None, after: LeaseRecord) -> bool:
        """False: there is something else by now than `before`."""


class HostedTenure(Tenure):
    """As `Tenure`, where the host's lease is renewed in the place of the fragment's.

    Publishing needs both: the record, read again, names this attempt in this incarnation, and that one is
    confirmed. When the host's next incarnation begins, the record is changed to it, unless it is another's.
    """

    def __init__(self, lease: SwappedLease, epoch: int, duration: float, host: Incarnations) -> None:
        super().__init__(lease, epoch, duration)
        self._swapped = lease
        self._host = host
        self._attempt = host.next_attempt()
        self._tried = False  # to acquire: an answer that was lost may have been a yes
        self._naming = threading.Lock()  # the query's thread publishes while another one looks

    def acquire(self) -> bool:
        """True when this attempt has the lease from now on. Raises Fenced when the epoch is over."""
        incarnation = self._host.present()
        if incarnation is None:
            return False
        self._holder = self._host.name(incarnation, self._attempt)
        self._tried = True
        return super().acquire()

    def _keep(self, acquired: float) -> None:
        """The host renews its own."""

    def end(self) -> bool:
        """Gives the record back when the attempt's query has stopped, however it ended: its host lives on, so
        nobody would see it expire. False: nobody answers."""
        try:
            return not self._tried or self._lease.release(self._epoch, self._holder) or self._has_gone()
        except OSError:
            return False

    def _has_gone(self) -> bool:
        """Whether the record names this attempt no more, also not under the present incarnation, to which it
        may have been changed without an answer."""
        incarnation = self._host.present()
        present = self._host.name(incarnation, self._attempt) if incarnation is not None else self._holder
        record = self._swapped.read()
        for name in (self._holder, present):
            if owns(record, self._epoch, name):
                self._holder = name
                return False
        return True

    def fence(self) -> None:
        """As of `Tenure`."""
        while (incarnation := self._host.wait()) is not None:
            try:
                mine = self._is_mine(incarnation)
            except OSError:
                self._host.pause()
                continue
            if not mine:
                self._closed.set()
                raise Fenced(self._words())
            if self._host.present() == incarnation:  # last: reading may have taken its time
                return
        raise Fenced(self._words())

    def _is_mine(self, incarnation: int) -> bool:
        """Whether the record names this attempt, after it was changed to this incarnation of the host."""
        name = self._host.name(incarnation, self._attempt)
        with self._naming:
            while True:
                record = self._swapped.read()
                if owns(record, self._epoch, name):  # also where nobody has confirmed that it was written
                    self._holder = name
                    return True
                if record is None or not owns(record, self._epoch, self._holder):
                    return False
                self._swapped.swap(record, replace(record, holder=name, renewed=time.time()))

    def unconfirmed(self) -> str:
        """As of `Tenure`. A fragment that publishes nothing goes over to the host's next incarnation here."""
        incarnation = self._host.present()
        if not self.held or self._closed.is_set():
            return ""
        if incarnation is None:
            return self._host.unconfirmed()
        if self._holder != self._host.name(incarnation, self._attempt):
            try:
                if not self._is_mine(incarnation):
                    self._closed.set()
            except OSError as error:
                return str(error) or repr(error)
        return ""

    @property
    def lost(self) -> bool:
        """Whether the lease belongs to another holder."""
        return self._closed.is_set()

    def stop(self) -> None:
        """The host goes on renewing its own."""
