"""The steps that find the highest rate that is sustained."""

from __future__ import annotations

import pytest

from tests.bench.links.lag import Held
from tests.bench.links.search import STEP, Found, climb, got_through


def system(limit: float, held: list[float]) -> object:
    """What sustains every rate up to `limit`."""

    def hold(rate: float) -> Held:
        held.append(rate)
        return Held(rate, min(rate, limit), 0.0 if rate <= limit else 1 - limit / rate, 2, 120, 1, {})

    return hold


@pytest.mark.parametrize("limit", [40.0, 700.0, 880.0, 901.0, 1000.0, 1600.0])
def test_the_limit_lies_between_the_last_flat_rate_and_the_first_that_is_not(limit: float) -> None:
    found = climb(900, system(limit, []))  # type: ignore[arg-type]
    assert found.sustained is not None
    assert found.refused is not None
    assert found.sustained.rate <= limit < found.refused.rate
    assert found.refused.rate == pytest.approx(STEP * found.sustained.rate)


def test_two_rates_are_enough_when_the_first_is_flat_and_the_next_is_not() -> None:
    held: list[float] = []
    climb(900, system(1000, held))  # type: ignore[arg-type]
    assert held == pytest.approx([900, 900 * STEP])


def test_what_sustains_much_more_is_found_in_few_steps() -> None:
    held: list[float] = []
    climb(900, system(2200, held))  # type: ignore[arg-type]
    assert held == pytest.approx([900 * STEP**step for step in (0, 1, 3, 5, 7, 6)])


def test_without_time_what_is_known_is_told() -> None:
    told: list[Found] = []
    left = [True, False]
    found = climb(900, system(5000, []), lambda: left.pop(0), told.append)  # type: ignore[arg-type]
    assert found == told[-1]
    assert len(found.tries) == 1
    assert found.sustained is not None
    assert found.refused is None


def test_a_later_run_goes_on_from_what_is_known() -> None:
    held: list[float] = []
    rest = [True, True, False]
    known = climb(900, system(500, held), lambda: rest.pop(0))  # type: ignore[arg-type]
    assert known.following is not None
    found = climb(known.following, system(500, held), known=known)  # type: ignore[arg-type]
    assert held == pytest.approx([900 / STEP**step for step in range(6)])
    assert found == climb(900, system(500, []))  # type: ignore[arg-type]
    assert found.following is None


def test_nothing_is_sustained_by_what_stands_still() -> None:
    found = climb(9, system(0.0, []))  # type: ignore[arg-type]
    assert found.sustained is None
    assert found.refused is not None


def test_a_flat_rate_above_one_that_was_not_does_not_count() -> None:
    def held(rate: float, slope: float) -> Held:
        return Held(rate, rate, slope, 2, 120, 1, {})

    found = Found((held(100, 0.5), held(87, 0.0), held(115, 0.0)))
    assert found.sustained == held(87, 0.0)


def test_rows_of_all_streams_count() -> None:
    assert got_through([0, 10], [100, 40], 10) == 13
