"""Liveness: a loop that stands still, or a watch that has gone silent, and neither is hidden by the other."""

from __future__ import annotations

from weir_operator.kube.liveness import CANARY_SECONDS, FAILING_SECONDS, LAG_SECONDS, ROUND_SECONDS, Liveness

from tests.kube.manual_clock import ManualClock


def test_it_lives_while_both_give_signs() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    for _ in range(100):
        clock.now += 30
        liveness.round_ended()
        liveness.renewal_watched()
        assert liveness.complaint() == ""


def test_a_loop_that_stands_still_is_told() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    while clock.now <= ROUND_SECONDS:
        clock.now += 10
        liveness.renewal_watched()
    assert "loop" in liveness.complaint()
    assert liveness.since_round() > ROUND_SECONDS


def test_a_silent_watch_is_told_although_the_loop_goes_round() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    while clock.now <= CANARY_SECONDS:
        clock.now += 10
        liveness.round_ended()
    assert "watches" in liveness.complaint()


def test_the_largest_lag_of_the_last_minutes_is_told() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    assert liveness.largest_lag() == 0.0
    liveness.woke_late(0.5)
    clock.now += 10
    liveness.woke_late(0.1)
    assert liveness.largest_lag() == 0.5
    clock.now += LAG_SECONDS + 1
    liveness.woke_late(0.2)
    assert liveness.largest_lag() == 0.2


def living(clock: ManualClock, liveness: Liveness, seconds: float) -> None:
    """The loop goes round and the watches speak."""
    clock.now += seconds
    liveness.round_ended()
    liveness.renewal_watched()


def test_a_loop_that_goes_round_and_fails_each_time_is_told_until_a_round_succeeds() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    liveness.round_failed(KeyError("tier"))
    living(clock, liveness, FAILING_SECONDS)
    liveness.round_failed(KeyError("zone"))
    assert liveness.complaint() == ""
    living(clock, liveness, 1)
    assert "KeyError('zone')" in liveness.complaint()
    assert liveness.failed_rounds == 2
    liveness.round_succeeded()
    assert liveness.complaint() == ""
    living(clock, liveness, FAILING_SECONDS + 1)
    liveness.round_failed(KeyError("tier"))
    assert liveness.complaint() == ""


def test_a_cluster_that_does_not_answer_is_counted_and_is_no_reason_to_restart() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    for _ in range(100):
        liveness.round_failed(ConnectionRefusedError())
        living(clock, liveness, 10)
    assert liveness.complaint() == ""
    assert liveness.failed_rounds == 100
