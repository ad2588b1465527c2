"""Loads and a capacity as whole numbers, for CP-SAT: exact where they have a small common denominator.

Else a load is rounded up to a part of the capacity, so that what is planned fits in truth. Of n loads the
sum then counts less than n / PARTS of the capacity too much: a plan that fills more than 1 - n / PARTS of
it may be missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, lcm

PARTS = 10_000_000
"""Of a capacity, where there is no common denominator."""

LARGEST_DENOMINATOR = 1000
LARGEST_WHOLE = 1 << 40
NOISE = 1e-6
"""Of a whole number: what adding and subtracting floats may have changed."""


def whole_numbers(loads: Sequence[float], free: float, capacity: float) -> tuple[list[int], int, float]:
    """Loads, what is free, and the size of one unit of both.

    >>> whole_numbers([1 / 3, 1 / 3, 1 / 3], 1.0, 1.0)[:2]
    ([1, 1, 1], 3)
    >>> whole_numbers([0.123456789], 0.5, 1.0)[:2]
    ([1234568], 5000000)
    """
    denominator = 1
    for load in loads:
        denominator = lcm(denominator, _denominator(load))
        if denominator > LARGEST_DENOMINATOR**2 or denominator * max(loads) > LARGEST_WHOLE:
            denominator = 0
            break
    if denominator:
        most = min(free * denominator, 2.0 * LARGEST_WHOLE)
        return [round(load * denominator) for load in loads], floor(most + NOISE), 1 / denominator
    unit = (capacity if capacity > 0 else max(loads)) / PARTS
    most = floor(free / unit + NOISE)
    return [min(ceil(load / unit - NOISE), PARTS * PARTS) for load in loads], most, unit


@lru_cache(maxsize=1 << 16)
def _denominator(load: float) -> int:
    """The denominator of a fraction that is the load, or 0."""
    fraction = Fraction(load).limit_denominator(LARGEST_DENOMINATOR)
    return fraction.denominator if abs(float(fraction) - load) <= 1e-15 * load else 0
