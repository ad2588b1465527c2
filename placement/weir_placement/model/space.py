"""The plans over which a bound or a proof holds."""

from __future__ import annotations

from enum import Enum

MAX_BLOCK = 10
"""Streams of a block of joins whose orders are all looked at, at most: a block of m has 2^m sets."""


class Space(Enum):
    """Which plans; its value are the words of the report and of the picture."""

    ALL = "all legal swaps of operators"
    PUSHED = "swaps of selections and joins, projections pushed down and merged"
    KEPT = "swaps of selections and joins, projections on their side of the joins"
    SOME_JOINS = "swaps of selections and joins, some joins only on the streams that they are written for"
    """Depends on how the query is written: nothing is proven over it."""
    SOME_ORDERS = f"join orders near the one written, where more than {MAX_BLOCK} streams are joined"
    """Depends on how the query is written: nothing is proven over it."""
    EARLY = "plans that filter and drop columns as early as they can"
    """Which is best unless it is CPU or memory that is short, or some nodes may not filter."""
    COLUMNS = "plans that keep all columns up to what computes or groups them"
    EARLY_COLUMNS = f"{EARLY}; {COLUMNS}"
    """Some queries' plans are of the one space, some of the other."""

    @property
    def words(self) -> str:
        """What it is called where users read of it."""
        return self.value

    @property
    def as_written(self) -> bool:
        """Whether it depends on how the query is written, so that nothing is proven over it."""
        return self in (Space.SOME_JOINS, Space.SOME_ORDERS)
