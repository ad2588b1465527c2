"""Loads as functions of x, the factor on the profile (model.md section 3).

Every rate and load is an increasing piecewise polynomial of x with coefficients >= 0: sums and
products of polynomials, and the minimum of an aggregate, which starts a new piece. So the largest
x that a capacity allows is one exact root.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

Polynomial = tuple[float, ...]
"""Coefficients a_0, a_1, ...: all >= 0."""


def value(polynomial: Polynomial, x: float) -> float:
    """The polynomial at x (Horner)."""
    total = 0.0
    for coefficient in reversed(polynomial):
        total = total * x + coefficient
    return total


def root(polynomial: Polynomial, capacity: float) -> float:
    """The largest x >= 0 with polynomial(x) <= capacity; inf if every x, -1 if not even x = 0.

    Newton's method from the right: the polynomial is convex and increasing on x >= 0, so the
    iterates fall to the root and never pass it. The start is WhiteWater's upper limit (section 4),
    min_i (capacity / a_i)^(1/i).

    >>> root((0.0, 0.0, 4.0), 100.0)
    5.0
    >>> root((101.0,), 100.0), root((1.0,), 100.0)
    (-1.0, inf)
    """
    free = capacity - (polynomial[0] if polynomial else 0.0)
    if free < 0:
        return -1.0
    terms = [(i, a) for i, a in enumerate(polynomial) if i and a > 0]
    if not terms or free == inf:
        return inf
    x: float = min((free / a) ** (1.0 / i) for i, a in terms)
    if len(terms) == 1:
        return x
    while True:
        load = slope = 0.0
        for i, a in terms:
            power = a * x ** (i - 1)
            load += power * x
            slope += i * power
        step = (load - free) / slope if slope > 0 else 0.0
        if step <= x * 2e-16:  # less than half a last place may not change x at all: it would never end
            return x
        x -= step


def add(a: Polynomial, b: Polynomial) -> Polynomial:
    """The sum."""
    if len(a) < len(b):
        a, b = b, a
    return tuple(p + q for p, q in zip(a, b, strict=False)) + a[len(b) :]


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product."""
    if not a or not b:
        return ()
    product = [0.0] * (len(a) + len(b) - 1)
    for i, p in enumerate(a):
        if p:
            for j, q in enumerate(b):
                product[i + j] += p * q
    return tuple(product)


@dataclass(frozen=True, slots=True)
class Load:
    """An increasing, continuous piecewise polynomial: `pieces[i]` holds from `starts[i]` on.

    >>> rate = Load.of(0.0, 10.0)          # 10 x
    >>> capped = rate.at_most(25.0)        # min(10 x, 25)
    >>> capped(2.0), capped(4.0), (rate * capped).root(500.0)
    (20.0, 25.0, 2.23606797749979)
    """

    starts: tuple[float, ...]
    pieces: tuple[Polynomial, ...]

    @staticmethod
    def of(*coefficients: float) -> Load:
        """One polynomial for every x >= 0."""
        return Load((0.0,), (coefficients,))

    def __call__(self, x: float) -> float:
        return value(self.pieces[bisect_right(self.starts, x) - 1], x)

    def _merged(self, other: Load) -> Iterable[tuple[float, Polynomial, Polynomial]]:
        for start in sorted({*self.starts, *other.starts}):
            yield (
                start,
                self.pieces[bisect_right(self.starts, start) - 1],
                other.pieces[bisect_right(other.starts, start) - 1],
            )

    def __add__(self, other: Load) -> Load:
        if len(self.starts) == len(other.starts) == 1:
            return Load((0.0,), (add(self.pieces[0], other.pieces[0]),))
        merged = list(self._merged(other))
        return Load(tuple(m[0] for m in merged), tuple(add(m[1], m[2]) for m in merged))

    def __mul__(self, other: Load) -> Load:
        if len(self.starts) == len(other.starts) == 1:
            return Load((0.0,), (multiply(self.pieces[0], other.pieces[0]),))
        merged = list(self._merged(other))
        return Load(tuple(m[0] for m in merged), tuple(multiply(m[1], m[2]) for m in merged))

    def times(self, factor: float) -> Load:
        """The load times a factor >= 0."""
        return Load(self.starts, tuple(tuple(a * factor for a in piece) for piece in self.pieces))

    def at_most(self, limit: float) -> Load:
        """min(load, limit): constant from the point where the load reaches the limit."""
        reached = self.root(limit)
        if reached == inf:
            return self
        if reached <= 0.0:
            return Load.of(limit)
        count = bisect_right(self.starts, reached)
        if self.starts[count - 1] == reached:
            count -= 1
        return Load((*self.starts[:count], reached), (*self.pieces[:count], (limit,)))

    def root(self, capacity: float) -> float:
        """The largest x >= 0 with load(x) <= capacity; inf if every x, -1 if not even x = 0."""
        if capacity == inf:
            return inf
        ends = (*self.starts[1:], inf)
        for start, end, piece in zip(self.starts, ends, self.pieces, strict=True):
            x = root(piece, capacity)
            if x < end:
                return max(x, start) if start > 0 else x
        return inf


ZERO = Load.of(0.0)


def total(loads: Iterable[Load]) -> Load:
    """The sum of any number of loads."""
    result = ZERO
    simple: list[float] = []
    for load in loads:
        if len(load.starts) > 1:
            result = result + load
            continue
        for i, a in enumerate(load.pieces[0]):
            if i < len(simple):
                simple[i] += a
            else:
                simple.append(a)
    plain = Load((0.0,), (tuple(simple),)) if simple else ZERO
    return plain if result is ZERO else result + plain
