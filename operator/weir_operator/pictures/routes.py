"""The ways of arrows between cards that stand in rows and columns.

Lines run only where no card stands: down the gutters between columns (gutter g is left of column g) and along
the aisles between rows (aisle r is above row r). In each they have tracks of their own, so that lines cross
but never lie on each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import Literal, TypeAlias

from weir_operator.pictures.tracks import Stretch, tracks

CardSide: TypeAlias = Literal["left", "right"]

PITCH = 5.0  # between parallel lines
PAD = 9.0  # between the outermost line and what stands beside it
ASIDE = 2.5  # by which lines at left sides of cards lie above the middle of their text, at right sides below
APART = 8.0  # between the ends of lines on one track
AROUND, BACKWARDS, CROWD = 30.0, 20.0, 8.0  # what a bend, an odd side and a neighbour count [points of way]


@dataclass(frozen=True)
class Levels:
    """The y of each row's upper edge, and of the uppermost track of each aisle."""

    rows: tuple[float, ...]
    aisles: tuple[float, ...]


@dataclass(frozen=True)
class Port:
    """Where a line may begin or end: the middle of a line of text, `offset` below the top of its row."""

    column: int
    row: int
    offset: float

    def y(self, side: CardSide, levels: Levels) -> float:
        """The y of a line there; those of the two cards beside a gutter differ."""
        return levels.rows[self.row] + self.offset + (ASIDE if side == "right" else -ASIDE)

    def gutter(self, side: CardSide) -> int:
        """The gutter at that side."""
        return self.column + (side == "right")


@dataclass(frozen=True)
class Route:
    """A way from a side of one port to a side of another, by an aisle if they are at different gutters."""

    start: Port
    end: Port
    leaves: CardSide
    arrives: CardSide
    aisle: int | None

    @property
    def gutters(self) -> tuple[int, int]:
        """The gutters where it begins and where it ends."""
        return self.start.gutter(self.leaves), self.end.gutter(self.arrives)

    def falls(self, levels: Levels) -> list[tuple[int, float, float]]:
        """Gutter, first and last y of each upright piece, as the line runs."""
        first, last = self.gutters
        start, end = self.start.y(self.leaves, levels), self.end.y(self.arrives, levels)
        if self.aisle is None:
            return [(first, start, end)]
        between = levels.aisles[self.aisle]
        return [(first, start, between), (last, between, end)]


class Lane:
    """The intervals that lines take of one gutter or aisle. O(log lines) a question."""

    def __init__(self) -> None:
        self._lows: list[float] = []  # each in order
        self._highs: list[float] = []

    def add(self, low: float, high: float) -> None:
        """Takes one more."""
        insort(self._lows, low)
        insort(self._highs, high)

    def beside(self, low: float, high: float) -> int:
        """How many share more than an end with the interval."""
        return max(0, bisect_left(self._lows, high) - bisect_right(self._highs, low))

    def touching(self, low: float, high: float) -> int:
        """How many share at least an end with it."""
        return bisect_right(self._lows, high) - bisect_left(self._highs, low)


@dataclass
class Crowd:
    """What already runs in the gutters and aisles."""

    gutters: defaultdict[int, Lane] = field(default_factory=lambda: defaultdict(Lane))
    aisles: defaultdict[int, Lane] = field(default_factory=lambda: defaultdict(Lane))

    def add(self, route: Route, levels: Levels) -> None:
        """Counts a chosen route."""
        for gutter, start, end in route.falls(levels):
            self.gutters[gutter].add(min(start, end), max(start, end))
        if route.aisle is not None:
            self.aisles[route.aisle].add(min(route.gutters), max(route.gutters))

    def beside(self, route: Route, levels: Levels) -> int:
        """How many lines run beside a route."""
        count = sum(
            self.gutters[gutter].beside(min(start, end), max(start, end))
            for gutter, start, end in route.falls(levels)
        )
        if route.aisle is not None:
            count += self.aisles[route.aisle].touching(min(route.gutters), max(route.gutters))
        return count


def choose(ends: Sequence[tuple[Port, Port]], column_width: float, levels: Levels) -> list[Route]:
    """A short route of few bends beside few others for each pair of ports; `levels` may be estimates, and
    `column_width` is that of a card with a gutter. O(lines x aisles x log lines)."""
    crowd = Crowd()
    routes: list[Route] = []
    for start, end in ends:
        lengths = {route: _length(route, column_width, levels) for route in _candidates(start, end)}
        best, least = None, inf
        for route in sorted(lengths, key=lambda route: lengths[route]):
            if lengths[route] >= least:  # nor is any later one better
                break
            cost = lengths[route] + CROWD * crowd.beside(route, levels)
            if cost < least:
                best, least = route, cost
        assert best is not None
        crowd.add(best, levels)
        routes.append(best)
    return routes


def _length(route: Route, column_width: float, levels: Levels) -> float:
    """The length of a way [points], with what its bends and odd sides count."""
    first, last = route.gutters
    way = abs(first - last) * column_width + sum(abs(a - b) for _, a, b in route.falls(levels))
    odd = (route.leaves == "left") + (route.arrives == "right")
    bends = 0 if route.aisle is None else 2
    return way + AROUND * bends + BACKWARDS * odd


def _candidates(start: Port, end: Port) -> Iterator[Route]:
    """By each side of both cards, and by each aisle beside their rows or between them."""
    aisles = range(min(start.row, end.row), max(start.row, end.row) + 2)
    sides: tuple[CardSide, CardSide] = ("right", "left")
    for leaves, arrives in product(sides, reversed(sides)):
        if start.gutter(leaves) == end.gutter(arrives):
            yield Route(start, end, leaves, arrives, None)
        else:
            for aisle in aisles:
                yield Route(start, end, leaves, arrives, aisle)


def aisle_tracks(routes: Sequence[Route], aisle: int) -> dict[int, int]:
    """The track of each route that runs along an aisle, by the route's index; 0 is the uppermost."""
    members = [i for i, route in enumerate(routes) if route.aisle == aisle]
    stretches = []
    for route in (routes[i] for i in members):
        first, last = route.gutters
        up_or_down = [1 if port.row >= aisle else -1 for port in (route.start, route.end)]
        arms = ((float(first), up_or_down[0]), (float(last), up_or_down[1]))
        stretches.append(Stretch(min(first, last), max(first, last), arms))
    return dict(zip(members, tracks(stretches, 0.5), strict=True))


def gutter_tracks(
    routes: Sequence[Route], gutter: int, levels: Levels, aisle_of: Sequence[float]
) -> dict[tuple[int, bool], int]:
    """The track of each upright piece in a gutter, by its route's index and whether it is the route's last
    piece; 0 is the leftmost. `aisle_of` is the y at which each route runs along its aisle."""
    stretches: dict[tuple[int, bool], Stretch] = {}
    for i, route in enumerate(routes):
        first, last = route.gutters
        start, end = route.start.y(route.leaves, levels), route.end.y(route.arrives, levels)
        out = -1 if route.leaves == "right" else 1  # a line from a card's right side comes from the left
        into = -1 if route.arrives == "right" else 1
        if route.aisle is None:
            if first == gutter:
                stretches[i, True] = Stretch(min(start, end), max(start, end), ((start, out), (end, into)))
            continue
        between, onwards = aisle_of[i], 1 if last > first else -1
        if first == gutter:
            arms = ((start, out), (between, onwards))
            stretches[i, False] = Stretch(min(start, between), max(start, between), arms)
        if last == gutter:
            arms = ((between, -onwards), (end, into))
            stretches[i, True] = Stretch(min(between, end), max(between, end), arms)
    return dict(zip(stretches, tracks(list(stretches.values()), APART), strict=True))
