"""The steps that find the highest rate that is sustained."""

from __future__ import annotations

import pytest

from tests.bench.links.lag import Trial
from tests.bench.links.search import STEP, Found, climb, got_through


def system(limit: float, rates: list[float]) -> object:
    """What sustains every rate up to `limit`."""

    def hold(rate: float) -> Trial:
        rates.append(rate)
        return Trial(rate, min(rate, limit), 0.0 if rate <= limit else 1 - limit / rate, 2, 120, 1, {})

    return hold


@pytest.mark.parametrize("limit", [40.0, 700.0, 880.0, 901.0, 1000.0, 1600.0])
def test_the_limit_lies_between_the_last_flat_rate_and_the_first_that_is_not(limit: float) -> None:
    result = climb(900, system(limit, []))  # type: ignore[arg-type]
    assert result.sustained is not None
    assert result.refused is not None
    assert result.sustained.rate <= limit < result.refused.rate
    assert result.refused.rate == pytest.approx(STEP * result.sustained.rate)


def test_two_rates_are_enough_when_the_first_is_flat_and_the_next_is_not() -> None:
    rates: list[float] = []
    climb(900, system(1000, rates))  # type: ignore[arg-type]
    assert rates == pytest.approx([900, 900 * STEP])


def test_what_sustains_much_more_is_found_in_few_steps() -> None:
    rates: list[float] = []
    climb(900, system(2200, rates))  # type: ignore[arg-type]
    assert rates == pytest.approx([900 * STEP**step for step in (0, 1, 3, 5, 7, 6)])


def test_without_time_what_is_known_is_told() -> None:
    reports: list[Found] = []
    left = [True, False]
    search = climb(900, system(5000, []), lambda: left.pop(0), reports.append)  # type: ignore[arg-type]
    assert search == reports[-1]
    assert len(search.tries) == 1
    assert search.sustained is not None
    assert search.refused is None


def test_a_later_run_goes_on_from_what_is_known() -> None:
    rates: list[float] = []
    rest = [True, True, False]
    first = climb(900, system(500, rates), lambda: rest.pop(0))  # type: ignore[arg-type]
    assert first.following is not None
    second = climb(first.following, system(500, rates), outcome=first)  # type: ignore[arg-type]
    assert rates == pytest.approx([900 / STEP**step for step in range(6)])
    assert second == climb(900, system(500, []))  # type: ignore[arg-type]
    assert second.following is None


def test_nothing_is_sustained_by_what_stands_still() -> None:
    result = climb(9, system(0.0, []))  # type: ignore[arg-type]
    assert result.sustained is None
    assert result.refused is not None


def test_a_flat_rate_above_one_that_was_not_does_not_count() -> None:
    def trial(rate: float, slope: float) -> Trial:
        return Trial(rate, rate, slope, 2, 120, 1, {})

    result = Found((trial(100, 0.5), trial(87, 0.0), trial(115, 0.0)))
    assert result.sustained == trial(87, 0.0)


def test_rows_of_all_streams_count() -> None:
    assert got_through([0, 10], [100, 40], 10) == 13
