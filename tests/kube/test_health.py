"""Liveness: a loop that stands still, or a watch that has gone silent, and neither is hidden by the other."""

from __future__ import annotations

from weir_operator.kube.health import CANARY_SECONDS, LAG_SECONDS, ROUND_SECONDS, Health


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_lives_while_both_give_signs() -> None:
    clock = Clock()
    health = Health(clock)
    for _ in range(100):
        clock.now += 30
        health.rounded()
        health.sang()
        assert health.complaint() == ""


def test_a_loop_that_stands_still_is_told() -> None:
    clock = Clock()
    health = Health(clock)
    while clock.now <= ROUND_SECONDS:
        clock.now += 10
        health.sang()
    assert "loop" in health.complaint()
    assert health.since_round() > ROUND_SECONDS


def test_a_silent_watch_is_told_although_the_loop_goes_round() -> None:
    clock = Clock()
    health = Health(clock)
    while clock.now <= CANARY_SECONDS:
        clock.now += 10
        health.rounded()
    assert "watches" in health.complaint()


def test_the_largest_lag_of_the_last_minutes_is_told() -> None:
    clock = Clock()
    health = Health(clock)
    assert health.lag() == 0.0
    health.lagged(0.5)
    clock.now += 10
    health.lagged(0.1)
    assert health.lag() == 0.5
    clock.now += LAG_SECONDS + 1
    health.lagged(0.2)
    assert health.lag() == 0.2
