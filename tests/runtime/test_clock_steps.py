"""A step back of the clock is told from what a time server corrects little by little."""

from __future__ import annotations

import time

import pytest
from weir_runtime.clock_steps import ClockSteps


@pytest.mark.parametrize(
    ("moves", "steps"),
    [
        ([-3600.0, 0.0, 0.0], [3600.0, 0.0, 0.0]),
        ([3600.0, 0.0], [0.0, 0.0]),
        ([-1.0] * 10, [0.0] * 10),
        ([7200.0, -7200.0], [0.0, 7200.0]),
    ],
    ids=["back", "ahead", "little by little", "ahead and back"],
)
def test_only_a_step_back_counts(
    monkeypatch: pytest.MonkeyPatch, moves: list[float], steps: list[float]
) -> None:
    now = {"time": 1.8e9, "monotonic": 50.0}
    monkeypatch.setattr(time, "time", lambda: now["time"])
    monkeypatch.setattr(time, "monotonic", lambda: now["monotonic"])
    watched, result = ClockSteps(), []
    for move in moves:
        now["time"] += 0.5 + move
        now["monotonic"] += 0.5
        result.append(watched.set_back())
    assert result == pytest.approx(steps)
