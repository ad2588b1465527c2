"""How far behind its streams a system is, and whether that grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

FLAT = 0.02
"""[s/s] A lag that grows faster is not flat: more than one row in fifty stays behind."""
LEAST_SAMPLES = 5


@dataclass
class History:
    """A count that only grows, over time."""

    at: list[float] = field(default_factory=list)
    count: list[float] = field(default_factory=list)

    def add(self, at: float, count: float) -> None:
        """Readings come in order; one that says nothing new is kept as well."""
        if not self.at or at > self.at[-1]:
            self.at.append(at)
            self.count.append(max(count, self.count[-1] if self.count else 0.0))

    def when(self, count: float) -> float:
        """The time at which it went beyond `count`, between two readings by proportion."""
        place = bisect_left(self.count, count + 1e-9)
        if place == 0:
            return self.at[0]
        if place == len(self.count):
            return self.at[-1]
        low, high = self.count[place - 1], self.count[place]
        share = (count - low) / (high - low)
        return self.at[place - 1] + share * (self.at[place] - self.at[place - 1])


def behind(history: History, read: float, now: float) -> float:
    """[s] for how long the oldest row has waited that is not read yet; 0 when all are."""
    if not history.count or read >= history.count[-1]:
        return 0.0
    return max(0.0, now - history.when(read))


@dataclass(frozen=True)
class LagSample:
    """[s] the lag of the slowest reader at a time."""

    at: float
    lag: float


def slope(samples: Sequence[LagSample]) -> float:
    """[s/s] of the line through the samples with the least squares. Raises ValueError for too few."""
    if len(samples) < LEAST_SAMPLES:
        raise ValueError(f"{len(samples)} samples; a slope needs {LEAST_SAMPLES}")
    at = np.array([s.at for s in samples])
    lag = np.array([s.lag for s in samples])
    at = at - at.mean()
    return float((at @ lag) / (at @ at))


@dataclass(frozen=True)
class Trial:
    """What one rate gave.

    Attributes:
        rate: [rows/s] that were sent, of all streams together.
        read: [rows/s] that the slowest reader of each stream took, summed.
        slope: [s/s] of the lag.
        lag: [s] its mean.
        cores: busy ones of the machine, of everything that ran.
        links: [bytes/s] over each link, by `from>to`.
    """

    rate: float
    read: float
    slope: float
    lag: float
    seconds: float
    cores: float
    links: Mapping[str, float]

    @property
    def flat(self) -> bool:
        """Whether the rate is sustained."""
        return self.slope <= FLAT
