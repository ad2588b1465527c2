"""/healthz as a kubelet asks it: the real server and the real loop's thread; only the clock is ours."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry, Gauge
from weir_operator.kube.leader import Leader
from weir_operator.kube.liveness import CANARY_SECONDS, FAILING_SECONDS, ROUND_SECONDS, Liveness
from weir_operator.kube.runner import Runner
from weir_operator.kube.server import serve


class Always:
    """A leader without rivals."""

    unanswered = False

    def leads(self) -> bool:
        return True

    def campaign(self) -> bool:
        return True

    def resign(self) -> None:
        """Nobody follows."""


class Rounds:
    """A loop that hangs in its round while `may` is not set, and fails in it if `error` is."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.began = threading.Semaphore(0)
        self.error: Exception | None = None

    def round(self) -> float:
        self.began.release()
        assert self.may.wait(60)
        if self.error:
            raise self.error
        return 60.0


class OperatorProcess:
    """The operator's process without a cluster: server, liveness, and the loop in its thread."""

    def __init__(self) -> None:
        self.now = 0.0
        self.liveness = Liveness(lambda: self.now)
        self.loop = Rounds()
        self.runner = Runner(self.loop, cast(Leader, Always()), self.liveness, lost=lambda: None)
        registry = CollectorRegistry()
        Gauge("weir_test", "A metric", registry=registry).set(7)
        self.server = serve(0, self.liveness, registry)

    def ask(self, path: str) -> tuple[int, str]:
        try:
            url = f"http://127.0.0.1:{self.server.server_address[1]}{path}"
            with urllib.request.urlopen(url, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def goes_round(self) -> None:
        """Wakes the loop, and waits until it has begun the round after: the one woken has ended."""
        for _ in range(2):
            self.runner.wake()
            assert self.loop.began.acquire(timeout=60)


@pytest.fixture
def operator() -> Iterator[OperatorProcess]:
    it = OperatorProcess()
    yield it
    it.loop.may.set()
    it.runner.stop()
    it.server.shutdown()
    it.server.server_close()


def test_it_is_ready_when_its_loop_has_gone_round(operator: OperatorProcess) -> None:
    assert operator.ask("/readyz") == (503, "starting")
    assert operator.ask("/healthz") == (200, "ok")
    operator.runner.start()
    assert operator.loop.began.acquire(timeout=60)
    assert operator.ask("/readyz") == (503, "starting"), "in its first round"
    operator.loop.may.set()
    operator.runner.wait_for_first_round(60)
    assert operator.ask("/readyz") == (200, "ready")
    assert "weir_test 7.0" in operator.ask("/metrics")[1]
    assert operator.ask("/")[0] == 404


def test_a_loop_that_hangs_is_told_and_one_that_goes_on_is_not(operator: OperatorProcess) -> None:
    operator.runner.start()
    assert operator.loop.began.acquire(timeout=60)
    operator.now += ROUND_SECONDS
    operator.liveness.renewal_watched()
    assert operator.ask("/healthz") == (200, "ok"), "a round may take that long"
    operator.now += 1
    operator.liveness.renewal_watched()
    status, text = operator.ask("/healthz")
    assert status == 503
    assert text == f"the loop has not completed a round for {ROUND_SECONDS + 1:.0f} s"
    operator.loop.may.set()
    operator.goes_round()
    assert operator.ask("/healthz") == (200, "ok")


def test_a_round_that_fails_is_no_reason_to_be_killed(operator: OperatorProcess) -> None:
    """An API server that does not answer would have every operator restarted."""
    operator.loop.error = OSError("no answer")
    operator.loop.may.set()
    operator.runner.start()
    operator.now += ROUND_SECONDS + 1
    operator.liveness.renewal_watched()
    assert operator.loop.began.acquire(timeout=60)
    operator.goes_round()
    assert operator.ask("/healthz") == (200, "ok")


def test_a_replica_that_does_not_lead_waits_for_no_round(operator: OperatorProcess) -> None:
    class Follower(Always):
        def leads(self) -> bool:
            return False

        def campaign(self) -> bool:
            return False

    runner = Runner(operator.loop, cast(Leader, Follower()), operator.liveness, lost=lambda: None)
    runner.start()
    runner.wait_for_first_round(60)
    assert operator.ask("/readyz") == (200, "ready")
    runner.stop()
    assert operator.ask("/readyz") == (503, "starting")
    assert not operator.loop.began.acquire(blocking=False), "it never went round"


def test_watches_that_have_gone_silent_are_told(operator: OperatorProcess) -> None:
    operator.now += CANARY_SECONDS + 1
    operator.liveness.round_ended()
    status, text = operator.ask("/healthz")
    assert (status, text) == (503, f"the watches have been silent for {CANARY_SECONDS + 1:.0f} s")
    operator.liveness.renewal_watched()
    assert operator.ask("/healthz") == (200, "ok")


def test_a_loop_of_which_every_round_fails_is_told(operator: OperatorProcess) -> None:
    operator.loop.error = KeyError("tier")
    operator.loop.may.set()
    operator.runner.start()
    operator.goes_round()
    assert operator.ask("/healthz") == (200, "ok")
    operator.now += FAILING_SECONDS + 1
    operator.goes_round()
    operator.liveness.renewal_watched()
    status, text = operator.ask("/healthz")
    assert (status, "KeyError('tier')" in text) == (503, True)
    operator.loop.error = None
    operator.goes_round()
    assert operator.ask("/healthz") == (200, "ok")


def test_a_campaign_that_fails_in_an_unforeseen_way_is_tried_again() -> None:
    campaigns: list[int] = []
    again = threading.Event()

    class Odd(Always):
        def campaign(self) -> bool:
            campaigns.append(1)
            if len(campaigns) == 1:
                raise ValueError("unforeseen")
            again.set()
            return True

    loop: Any = Rounds()
    loop.may.set()
    runner = Runner(loop, cast(Leader, Odd()), Liveness(), lost=lambda: None, renew=0.01)
    runner.start()
    assert again.wait(60)
    runner.stop()
