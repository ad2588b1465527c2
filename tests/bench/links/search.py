"""The highest rate that is sustained: where it stays behind first, then steps of a fixed factor, two at a
time while it holds more than was thought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.links.lag import Trial

STEP = 1.15
BEGIN = 0.9
"""Share of what got through under too much load with which the steps begin."""
LEAST = 1.0
"""[rows/s] Below this nothing is sustained."""


@dataclass(frozen=True)
class Found:
    """Every rate that was held, in order."""

    tries: tuple[Trial, ...]

    @property
    def sustained(self) -> Trial | None:
        """The highest flat one below every one that was not; None when none was."""
        ceiling = min((trial.rate for trial in self.tries if not trial.flat), default=float("inf"))
        flat = [trial for trial in self.tries if trial.flat and trial.rate < ceiling]
        return max(flat, key=lambda trial: trial.rate, default=None)

    @property
    def refused(self) -> Trial | None:
        """The lowest one that was not flat; None when all were: the highest rate is not known then."""
        return min((h for h in self.tries if not h.flat), key=lambda trial: trial.rate, default=None)

    @property
    def following(self) -> float | None:
        """[rows/s] The rate to hold next; None before the first, and when the limit lies within a step."""
        low, high = self.sustained, self.refused
        if low and high:
            return low.rate * STEP if high.rate > low.rate * STEP**1.5 else None
        if low:
            return low.rate * (STEP if len(self.tries) == 1 else STEP**2)
        return high.rate / STEP if high else None


def climb(
    begin: float,
    hold: Callable[[float], Trial],
    goes_on: Callable[[], bool] = lambda: True,
    tell: Callable[[Found], None] = lambda _: None,
    outcome: Found = Found(()),
) -> Found:
    """Holds rates until one is flat and the next one, a step above, is not.

    Args:
        begin: [rows/s] the first rate.
        hold: sends at a rate for the time that counts.
        goes_on: whether there is time for another one.
        tell: is given what is known after each.
        outcome: the rates that were held already.
    """
    rate: float | None = begin
    while rate is not None and rate >= LEAST and goes_on():
        outcome = Found((*outcome.tries, hold(rate)))
        tell(outcome)
        rate = outcome.following
    return outcome


def got_through(before: Sequence[float], after: Sequence[float], seconds: float) -> float:
    """[rows/s] of all streams, by counts that each one's slowest reader had taken before and after."""
    return sum(b - a for a, b in zip(before, after, strict=True)) / seconds
