"""Changes that come together are answered by one round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from weir_operator.kube.runner import SETTLE, settle


class Wake:
    """An event that is set at given times [s]; waiting for it moves the clock."""

    def __init__(self, times: Sequence[float]) -> None:
        self.times = list(times)
        self.now = 0.0

    def clear(self) -> None:
        self.times = [at for at in self.times if at > self.now]

    def wait(self, timeout: float) -> bool:
        coming = min(self.times, default=float("inf"))
        self.now = min(coming, self.now + timeout)
        return coming <= self.now


def settled(times: Sequence[float], last_round: float) -> float:
    wake: Any = Wake(times)
    settle(wake, last_round, clock=lambda: wake.now)
    return float(wake.now)


def test_one_change_is_answered_after_a_moment() -> None:
    assert settled([], 10.0) == SETTLE


def test_a_burst_is_waited_for_until_it_ends() -> None:
    burst = [0.1 * i for i in range(1, 31)]
    assert settled(burst, 10.0) == pytest.approx(3.0 + SETTLE)


def test_changes_without_end_are_waited_for_as_long_as_a_round_takes_and_no_longer() -> None:
    endless = [0.1 * i for i in range(1, 1000)]
    assert settled(endless, 4.0) == pytest.approx(4.0)
    assert settled(endless, 0.0) == pytest.approx(SETTLE)


def test_whoever_is_told_to_stop_waits_for_nothing() -> None:
    wake: Any = Wake([0.1 * i for i in range(1, 1000)])
    settle(wake, 10.0, stopped=lambda: True, clock=lambda: wake.now)
    assert wake.now == 0.0
