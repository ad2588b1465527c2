"""What a coordinator sees, and the planning it does with nothing else.

A `View` is all that the planner of a cluster gets: its own members, the costs between them, the
streams that they advertise, and the part of a query that it is asked to plan. `plan_view` is a pure
function of it, so every coordinator could run its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from weir_placement.array_types import Floats, Ints
from weir_placement.network.dynamic_program import Step, Ways, solve, tree


@dataclass(frozen=True)
class View:
    """One cluster's planning problem; sites are positions among its members.

    Attributes:
        latency: shape (C, C) [s], between members.
        present: shape (T, C): 0 where a member advertises a stream, infinite elsewhere.
        place: shape (W, C): 0 where some node that a member stands for can run a way.
        target: the stream wanted.
        exits: members at any of which it is wanted; empty: wherever it is made.
    """

    ways: Ways
    latency: Floats
    present: Floats
    place: Floats
    target: int
    exits: Ints


@dataclass(frozen=True)
class ViewPlan:
    """The plan tree over members and its estimated cost [bytes]."""

    root: Step
    cost: float


def plan_view(view: View) -> ViewPlan | None:
    """The cheapest plan inside a view, None when there is none."""
    table = solve(view.ways, view.latency, view.present, view.place)
    if len(view.exits) == 0:
        node = int(np.argmin(table.produced[view.target]))
        cost = float(table.produced[view.target, node])
    else:
        exit_ = int(view.exits[np.argmin(table.available[view.target, view.exits])])
        cost = float(table.available[view.target, exit_])
        node = int(table.source[view.target, exit_])
    if not np.isfinite(cost):
        return None
    return ViewPlan(tree(table, view.ways, view.target, node), cost)


def search_space(streams: int, nodes: int) -> float:
    """Lemma 1 of Hierarchical partitions: the plans of an exhaustive search over K streams on N nodes,
    `K! (K - 1)! / 2^(K-1) * N^(K-1)`.

    >>> f"{search_space(5, 64):.2e}"
    '3.02e+09'
    >>> search_space(1, 64), search_space(2, 64)
    (1.0, 64.0)
    """
    k = streams
    return float(factorial(k) * factorial(k - 1) // 2 ** (k - 1) * nodes ** (k - 1))
