"""NOS, section 5, simulated: what the page of `weir bench nos-adaptive` says holds in one repeat."""

import pytest
from weir_placement.bench.join_adaptation import (
    Course,
    Situation,
    adaptive,
    fixed_and_foreseeing,
    rate_at,
    situation,
)
from weir_placement.bench.nos_adaptive import PAPER_TABLE_3, message_counts

MOST_OVERHEAD = {4: 1.4, 8: 2.1}


@pytest.fixture(scope="module", params=[4, 8])
def run(request: pytest.FixtureRequest) -> Situation:
    return situation(request.param, seed=3)


@pytest.fixture(scope="module")
def courses(run: Situation) -> dict[bool, Course]:
    return {central: adaptive(run, central=central) for central in (False, True)}


def test_the_adaptive_cost_is_within_five_percent_of_foresight(
    run: Situation, courses: dict[bool, Course]
) -> None:
    fixed, foreseeing = fixed_and_foreseeing(run)
    for course in courses.values():
        assert sum(course.cost) <= 1.05 * sum(foreseeing) < sum(fixed)
        assert max(course.cost) < max(fixed)


def test_four_changes_are_four_new_plans_whose_overhead_keeps_its_bound(
    run: Situation, courses: dict[bool, Course]
) -> None:
    for distributed, central in zip(courses[False].overheads, courses[True].overheads, strict=True):
        assert distributed.rises == central.rises == (rate_at(central.time) == 200.0)
        assert distributed.total <= MOST_OVERHEAD[run.width] * central.total
    assert [round(overhead.time, 1) for overhead in courses[True].overheads] == [1.6, 3.6, 5.6, 7.6]


def test_windows_lag_behind_the_rate(run: Situation) -> None:
    """Evenly spaced tuples: 25 in 500 ms at 50 tuples/s, 100 at 200, and between them on the way."""
    contents = [run.at(time).streams[1].window for time in (1.4, 1.75, 2.2, 3.75, 4.2)]
    low, rising, high, falling, low_again = contents
    assert abs(low - 25) <= 1
    assert abs(low_again - 25) <= 1
    assert abs(high - 100) <= 1
    assert low < rising < high
    assert low < falling < high


@pytest.mark.parametrize("width", [4, 8])
def test_the_pages_counts_are_at_most_half_of_the_papers(width: int) -> None:
    for rises, counts in message_counts(width).items():
        modification, migration = counts[2:4]
        assert modification + migration <= sum(PAPER_TABLE_3[width, rises][3:5]) / 2
