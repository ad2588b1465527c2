"""Which of a channel's parallel tracks each line takes, so that none lies on another and few cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stretch:
    """A straight piece of a line along a channel, from `low` to `high`, and the pieces that go on from its
    two ends: where along the channel, and whether across to the lower (-1) or the higher (1) side of it."""

    low: float
    high: float
    arms: tuple[tuple[float, int], tuple[float, int]]


def tracks(stretches: Sequence[Stretch], apart: float) -> list[int]:
    """The track of each stretch, 0 the lowest. Stretches on one track are `apart` or more from each other.

    First fit by where they begin gives the fewest tracks; then tracks change places as long as that saves
    crossings. O(stretches^2 + tracks^2) for each round of changes.
    """
    ends: list[float] = []  # of each track
    taken = [0] * len(stretches)
    for i in sorted(range(len(stretches)), key=lambda i: (stretches[i].low, stretches[i].high)):
        free = (k for k, end in enumerate(ends) if end + apart <= stretches[i].low)
        taken[i] = next(free, len(ends))
        if taken[i] == len(ends):
            ends.append(0.0)
        ends[taken[i]] = stretches[i].high
    order = _order(_costs(stretches, taken, len(ends)) if stretches else [])
    rank = {track: place for place, track in enumerate(order)}
    return [rank[track] for track in taken]


def _costs(stretches: Sequence[Stretch], taken: Sequence[int], count: int) -> list[list[int]]:
    """`[a][b]`: how many lines cross when track a lies lower than track b."""
    lows, highs = (np.array([getattr(s, end) for s in stretches])[:, None, None] for end in ("low", "high"))
    at, side = (np.array([[arm[part] for arm in s.arms] for s in stretches]) for part in (0, 1))
    within = (lows < at) & (at < highs)  # by stretch, other stretch, the other's arm
    down, up = ((within & (side == direction)).sum(axis=2) for direction in (-1, 1))
    costs = np.zeros((count, count), dtype=int)
    np.add.at(costs, np.ix_(taken, taken), down + up.T)
    np.fill_diagonal(costs, 0)
    costs_by_track: list[list[int]] = costs.tolist()
    return costs_by_track


def _order(costs: Sequence[Sequence[int]]) -> list[int]:
    """The tracks from low to high: each is taken to its best place among the others until none gains."""
    order = list(range(len(costs)))
    improved = True
    while improved:
        improved = False
        for track in range(len(costs)):
            place = order.index(track)
            others = order[:place] + order[place + 1 :]
            totals = [sum(costs[track][other] for other in others)]  # by place
            for other in others:
                totals.append(totals[-1] + costs[other][track] - costs[track][other])
            best = totals.index(min(totals))
            if totals[best] < totals[place]:
                order = [*others[:best], track, *others[best:]]
                improved = True
    return order
