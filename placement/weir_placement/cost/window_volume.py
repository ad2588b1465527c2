"""V(S): the volume of the times at which rows of several streams join (model.md section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Bound = tuple[int, int, float, float]
"""(i, j, lower, upper): lower <= t_i - t_j <= upper [s]."""


def volume(streams: int, bounds: Sequence[Bound]) -> float:
    """The volume [s^(n-1)] of { t : every bound holds }, relative to one of `streams` streams.

    A tree of windows gives the product of their lengths; n streams all within w of each other give
    n w^(n-1). Cyclic windows in general are a polytope of differences, whose volume is computed
    exactly (Qhull) in n - 1 dimensions. Streams that no chain of bounds ties together give infinity:
    such a join has no bounded state.

    >>> volume(3, [(0, 1, -5, 5), (1, 2, -5, 5)])
    100.0
    >>> round(volume(3, [(0, 1, -5, 5), (1, 2, -5, 5), (0, 2, -5, 5)]), 6)
    75.0
    """
    narrowest: dict[tuple[int, int], tuple[float, float]] = {}
    for i, j, lower, upper in bounds:
        key, lo, up = ((i, j), lower, upper) if i < j else ((j, i), -upper, -lower)
        old_lo, old_up = narrowest.get(key, (-np.inf, np.inf))
        narrowest[key] = (max(lo, old_lo), min(up, old_up))
    return _volume(streams, tuple(sorted((i, j, lo, up) for (i, j), (lo, up) in narrowest.items())))


@lru_cache(maxsize=65536)
def _volume(streams: int, bounds: tuple[Bound, ...]) -> float:
    if any(lower >= upper for _, _, lower, upper in bounds):
        return 0.0
    product, component = 1.0, list(range(streams))
    for i, j, lower, upper in bounds:
        product *= upper - lower
        old, new = component[j], component[i]
        component = [new if c == old else c for c in component]
    if len(set(component)) > 1:
        return float("inf")
    if len(bounds) == streams - 1:
        return product
    widths = {(-lower, upper) for _, _, lower, upper in bounds}
    if len(bounds) == streams * (streams - 1) // 2 and len(widths) == 1:
        below, above = widths.pop()
        if below == above:
            return float(streams * above ** (streams - 1))
    return _polytope(streams, bounds)


def _polytope(streams: int, bounds: tuple[Bound, ...]) -> float:
    """Closes the bounds over paths (so that every difference is bounded), then asks Qhull."""
    longest = np.full((streams, streams), np.inf)  # t_i - t_j <= longest[i, j]
    np.fill_diagonal(longest, 0.0)
    for i, j, lower, upper in bounds:
        longest[i, j] = min(longest[i, j], upper)
        longest[j, i] = min(longest[j, i], -lower)
    for k in range(streams):
        longest = np.minimum(longest, longest[:, k : k + 1] + longest[k : k + 1, :])
    if np.any(longest + longest.T <= 1e-12 + np.where(np.eye(streams), -np.inf, 0.0)):
        return 0.0
    scale = longest.max()
    halfspaces = []
    for i in range(streams):
        for j in range(streams):
            if i != j:
                halfspaces.append([*_relative(i, j, streams), -longest[i, j] / scale])
    inside = _centre(longest / scale)
    from scipy.spatial import ConvexHull, HalfspaceIntersection  # half a second; cyclic windows are rare

    corners = HalfspaceIntersection(np.array(halfspaces), inside).intersections
    return float(ConvexHull(corners).volume * scale ** (streams - 1))


def _relative(i: int, j: int, streams: int) -> list[float]:
    """The row of t_i - t_j when t_0 = 0."""
    row = [0.0] * streams
    row[i] += 1.0
    row[j] -= 1.0
    return row[1:]


def _centre(longest: NDArray[np.float64]) -> NDArray[np.float64]:
    """An inner point: the mean of the extreme solutions t_j = longest[j, k] - longest[0, k] and their
    mirror images, which differ in every direction that has a volume."""
    upper = longest - longest[0:1, :]
    lower = -longest.T + longest.T[0:1, :]
    return np.asarray(np.hstack([upper, lower]).mean(axis=1)[1:])
