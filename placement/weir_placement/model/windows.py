"""What the windows of a join's pairs imply for other pairs of sources (difference constraints)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from weir_placement.model.operators import Window

Bounds = Mapping[tuple[str, str], float]
"""`bounds[a, b]`: the greatest `t_a - t_b` [us] of rows that belong together; missing: no limit."""


def closure(windows: Iterable[Window]) -> dict[tuple[str, str], float]:
    """The tightest bounds that the windows imply for every pair (shortest paths, O(sources cubed)).

    >>> bounds = closure([Window("a", "b", -5, 5), Window("b", "c", -5, 5)])
    >>> bounds["a", "c"], bounds["c", "a"]
    (10, 10)
    """
    bounds: dict[tuple[str, str], float] = {}
    for window in windows:
        for pair, limit in (
            ((window.left, window.right), window.upper),
            ((window.right, window.left), -window.lower),
        ):
            bounds[pair] = min(limit, bounds.get(pair, inf))
    return tighten(bounds)


def tighten(limits: Bounds) -> dict[tuple[str, str], float]:
    """The tightest limits that follow from all of them together."""
    bounds = dict(limits)
    names = sorted({name for pair in bounds for name in pair})
    for middle in names:
        for a in names:
            for b in names:
                through = bounds.get((a, middle), inf) + bounds.get((middle, b), inf)
                if a != b and through < bounds.get((a, b), inf):
                    bounds[a, b] = through
    return bounds


def contradicts(bounds: Bounds) -> bool:
    """Whether no rows can satisfy the bounds: some pair would have to be apart both ways."""
    return any(limit + bounds.get((b, a), inf) < 0 for (a, b), limit in bounds.items())


def implied(bounds: Bounds, left: str, right: str) -> Window | None:
    """The window between two sources, or None when one side is not limited."""
    upper, lower = bounds.get((left, right), inf), -bounds.get((right, left), inf)
    if inf in (upper, -lower):
        return None
    return Window(left, right, int(lower), int(upper))
