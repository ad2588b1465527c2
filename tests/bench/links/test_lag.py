"""How far behind a reader is, and when that counts as flat."""

from __future__ import annotations

import pytest

from tests.bench.links.lag import FLAT, History, LagSample, Trial, behind, slope


def history(*points: tuple[float, float]) -> History:
    points_so_far = History()
    for at, count in points:
        points_so_far.add(at, count)
    return points_so_far


def test_the_oldest_row_that_is_not_read_says_how_far_behind() -> None:
    sent = history((0, 0), (10, 1000), (20, 1000), (30, 3000))
    assert behind(sent, 3000, 31) == 0
    assert behind(sent, 500, 31) == pytest.approx(26)
    assert behind(sent, 2000, 31) == pytest.approx(6)


def test_while_nothing_is_sent_a_reader_that_has_all_is_not_behind() -> None:
    sent = history((0, 0), (10, 1000), (100, 1000))
    assert behind(sent, 1000, 100) == 0
    assert behind(sent, 999, 100) == pytest.approx(90, abs=0.1)


def test_before_anything_was_sent_nobody_is_behind() -> None:
    assert behind(History(), 0, 5) == 0


def test_a_reader_of_counters_that_are_older_than_the_feeders_is_not_ahead() -> None:
    assert behind(history((0, 0), (10, 100)), 120, 11) == 0


def test_slope_is_that_of_the_line() -> None:
    samples = [LagSample(100 + 2.5 * i, 3 + 0.1 * 2.5 * i + (-1) ** i) for i in range(48)]
    assert slope(samples) == pytest.approx(0.1, abs=0.005)


def test_batches_that_come_and_go_are_flat_and_a_reader_that_is_a_twentieth_too_slow_is_not() -> None:
    def waves(growth: float) -> float:
        return slope([LagSample(2.5 * i, 2 + (2.5 * i) % 4 + growth * 2.5 * i) for i in range(48)])

    assert waves(0.0) <= FLAT < waves(0.05)


def test_few_samples_have_no_slope() -> None:
    with pytest.raises(ValueError, match="4 samples; a slope needs 5"):
        slope([LagSample(i, 0) for i in range(4)])


@pytest.mark.parametrize(("grows", "flat"), [(-0.3, True), (0.0, True), (FLAT, True), (FLAT + 0.001, False)])
def test_a_rate_is_sustained_when_the_lag_does_not_grow(grows: float, flat: bool) -> None:
    assert Trial(100, 100, grows, 2, 120, 1, {}).flat == flat
