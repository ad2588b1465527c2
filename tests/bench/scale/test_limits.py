"""`make scale` fails when a figure crosses its limit, or could not be taken."""

from __future__ import annotations

import pytest

from tests.bench.scale.scale import IDLE_WRITES, LIMITS, PEAK, RECONCILE, crossed

AT_THE_LIMITS = {**LIMITS, "round at rest [s]": 99.0}


def test_at_the_limits_is_within_them() -> None:
    assert crossed(AT_THE_LIMITS) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [(RECONCILE, 10.1), (PEAK, 501.0), (IDLE_WRITES, 1.0), (RECONCILE, float("nan"))],
)
def test_a_figure_over_its_limit_is_named(name: str, value: float) -> None:
    (message,) = crossed({**AT_THE_LIMITS, name: value})
    assert name in message


def test_nothing_measured_is_not_within_the_limits() -> None:
    assert len(crossed({})) == len(LIMITS)
