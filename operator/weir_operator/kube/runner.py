"""The thread that goes round: campaign, and while leading, one round of the loop after another."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from weir_operator.kube.leader import RENEW, Leader
from weir_operator.kube.liveness import Liveness

log = logging.getLogger("weir")
SETTLE = 0.2  # [s] without a change, after which no more of them are waited for: one rarely comes alone
RETRY = 5.0  # [s] after a round that failed


class Reconciler(Protocol):
    """The controller's loop."""

    def round(self) -> float:
        """Observe, plan, apply, report; the seconds after which it wants to look again at most."""
        ...


class Runner:
    """Two threads: one keeps the leadership, one goes round. `lost` is told when the leadership is."""

    def __init__(
        self,
        loop: Reconciler,
        leader: Leader,
        liveness: Liveness,
        lost: Callable[[], None],
        renew: float = RENEW,
    ) -> None:
        self._loop = loop
        self._leader = leader
        self._liveness = liveness
        self._lost = lost
        self._renew = renew  # [s] between two campaigns
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._looked = threading.Event()  # it has gone round once, or another replica does
        self._threads = [
            threading.Thread(target=self._campaign, name="leader", daemon=True),
            threading.Thread(target=self._go_round, name="loop", daemon=True),
        ]

    def start(self) -> None:
        """Begin; returns at once."""
        for thread in self._threads:
            thread.start()

    def look(self, seconds: float) -> None:
        """Wait for the end of the first round, if this replica leads, at most so long; then it is ready."""
        self._looked.wait(seconds)
        self._liveness.ready = not self._stop.is_set()

    def wake(self) -> None:
        """Something changed."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the round under way, then let the other replica lead; also if it was never started."""
        self._liveness.ready = False
        self._stop.set()
        self._wake.set()
        self._looked.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=20.0)
        try:
            self._leader.resign()
        except OSError as error:
            log.warning("the leadership expires by itself: %s", error)

    def _campaign(self) -> None:
        led = False
        while not self._stop.is_set():
            leads = self._ask()
            if leads != led:
                log.info("this replica %s", "leads" if leads else "no longer leads")
                self._wake.set()
            if led and not leads and not self._stop.is_set():
                self._lost()
                return
            led = leads
            if not leads:
                self._looked.set()
            self._stop.wait(self._renew)

    def _ask(self) -> bool:
        try:
            return self._leader.campaign()
        except Exception:
            log.exception("the leadership could not be asked for; it is tried again")
        return self._leader.leads()

    def _go_round(self) -> None:
        while not self._stop.is_set():
            pause, begin = self._renew, time.monotonic()
            if self._leader.leads():
                pause = self._one_round()
                self._looked.set()
            self._liveness.round_ended()
            took = time.monotonic() - begin
            if self._wake.wait(pause):
                settle(self._wake, took, self._stop.is_set)
            self._wake.clear()

    def _one_round(self) -> float:
        try:
            pause = self._loop.round()
        except OSError as error:
            log.warning("the round ended early, another begins soon: %s", error)
            self._liveness.round_failed(error)
        except Exception as error:
            log.exception("a round failed; it is tried again")
            self._liveness.round_failed(error)
        else:
            self._liveness.round_succeeded()
            return pause
        return RETRY


def settle(
    wake: threading.Event,
    most: float,
    stopped: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return when nothing has changed for a moment, at most after as long as the last round took [s].

    When the watches begin, they tell of every object there is: a round amid that would see all of it again
    while they still read it, and take the memory of both.
    """
    end = clock() + max(most, SETTLE)
    while not stopped():
        wake.clear()
        if not wake.wait(SETTLE) or clock() >= end:
            return
