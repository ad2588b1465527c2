"""Branch and bound over logical and physical choices together, to a proof.

As `exhaustive`, but it starts from what annealing found, so nearly every branch is cut at once, and when
the time is up it still gives a valid upper bound (`bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

from weir_placement.search import auto
from weir_placement.search.encode import Encoding
from weir_placement.search.item import HUGE
from weir_placement.search.session import Found

DEFAULTS = {"iterations": 400.0, "restarts": 8.0, "steps": 1e6, "items": HUGE, "small": 40.0}
"""As `auto`; steps: of the first attempt at a proof, ten times more at each next one until the time is up."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """`auto` with a growing budget."""
    parameters = dict(options)
    while True:
        found = auto.search(encoding, parameters, deadline)
        if found.proven or perf_counter() > deadline or parameters["steps"] > 1e12:
            return found
        parameters["steps"] *= 10


exact = auto.over_forms("exact", search, DEFAULTS, 1 << 20)
"""Plans a problem to a proof."""
