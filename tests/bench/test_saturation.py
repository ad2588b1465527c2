"""What is read off a run at full load."""

from __future__ import annotations

import pytest
from weir_operator.bench.saturation import fit


def test_start_up_and_a_neighbour_do_not_count() -> None:
    """20 us a row; twice that in the first quarter, half as much again while a neighbour disturbs."""
    readings, cpu, now = [], 0.0, 0.0
    for step in range(100):
        cost = 40e-6 if step < 25 else 30e-6 if 50 <= step < 70 else 20e-6
        cpu, now = cpu + cost * 5000, now + 2 * cost * 5000
        readings.append((now, 5000.0 * (step + 1), cpu, 2500.0 * (step + 1)))
    costs = fit("x", readings)
    assert costs.cpu_per_row == pytest.approx(20, rel=0.05)
    assert costs.wall_rate == pytest.approx(25_000, rel=0.05)
    assert costs.out_per_row == pytest.approx(0.5)


def test_too_few_readings_are_told() -> None:
    with pytest.raises(OSError, match="too few readings"):
        fit("x", [(0.0, 1.0, 1.0, 1.0), (1.0, 2.0, 2.0, 2.0)])
