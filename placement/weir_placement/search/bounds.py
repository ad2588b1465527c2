"""Upper bounds: no plan, logical or physical, can have a greater headroom."""

from __future__ import annotations

from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE


def upper_bound(encoding: Encoding) -> float:
    """1e300 when nothing is known."""
    return HUGE
