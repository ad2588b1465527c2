"""The operator's threads: one campaigns for the lead; while it leads, the other runs round after round."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from weir_operator.kube.leader import RENEW, Leader
from weir_operator.kube.liveness import Liveness

log = logging.getLogger("weir")
SETTLE = 0.2  # [s] without a change before the next round begins: changes rarely come alone
RETRY = 5.0  # [s] after a round that failed


class Reconciler(Protocol):
    """The controller's loop."""

    def round(self) -> float:
        """Observe, plan, apply, report; returns after how many seconds at most the next round is due."""
        ...


class Runner:
    """Two threads: one keeps the lead, one runs rounds. `lost` is called when the lead is lost."""

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
        self._overtaken = False
        self._renew = renew  # [s] between two campaigns
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._first_round = threading.Event()  # it has ended, or another replica leads
        self._threads = [
            threading.Thread(target=self._campaign, name="leader", daemon=True),
            threading.Thread(target=self._run_rounds, name="loop", daemon=True),
        ]

    def start(self) -> None:
        """Start the threads; returns at once."""
        for thread in self._threads:
            thread.start()

    def wait_for_first_round(self, seconds: float) -> None:
        """Wait at most this long for the end of the first round, if this replica leads; then it is ready."""
        self._first_round.wait(seconds)
        self._liveness.ready = not self._stop.is_set()

    def wake(self) -> None:
        """Something changed."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the round under way, then let the other replica lead; may be called before `start`."""
        self._liveness.ready = False
        self._stop.set()
        self._wake.set()
        self._first_round.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=20.0)
        try:
            self._leader.resign()
        except OSError as error:
            log.warning("cannot release the leader lease, which expires by itself: %s", error)

    def _campaign(self) -> None:
        led = False
        while not self._stop.is_set() and not self._overtaken:
            led = self.ask(led)
            if not led:
                self._first_round.set()
            self._stop.wait(self._renew)

    def ask(self, led: bool) -> bool:
        """One campaign of a replica that `led` so far, and what follows from it: whether it leads now.

        A replica that another has overtaken ends. While the API server does not answer nobody can overtake:
        then this one only makes no round, and goes on afterwards.
        """
        try:
            leads = self._leader.campaign()
        except Exception:
            log.exception("cannot acquire or renew the leader lease; trying again")
            leads = self._leader.leads()
        if leads != led:
            log.info("this replica %s", "leads" if leads else "no longer leads")
            self._wake.set()
        if self._leader.unanswered:
            self._liveness.api_away()
        elif led and not leads and not self._stop.is_set():
            self._overtaken = True
            self._lost()
        return leads

    def _run_rounds(self) -> None:
        while not self._stop.is_set():
            pause, begin = self._renew, time.monotonic()
            if self._leader.leads():
                pause = self._one_round()
                self._first_round.set()
            self._liveness.round_ended()
            duration = time.monotonic() - begin
            if self._wake.wait(pause):
                settle(self._wake, duration, self._stop.is_set)
            self._wake.clear()

    def _one_round(self) -> float:
        try:
            pause = self._loop.round()
        except OSError as error:
            log.warning("the round ended early; trying again soon: %s", error)
            self._liveness.round_failed(error)
        except Exception as error:
            log.exception("a round failed; trying again soon")
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
    """Return when nothing has changed for a moment, or after `most` [s], the duration of the last round.

    When the watches begin, they report every object: a round at that time would read all of them a second
    time, and need the memory of both.
    """
    end = clock() + max(most, SETTLE)
    while not stopped():
        wake.clear()
        if not wake.wait(SETTLE) or clock() >= end:
            return
