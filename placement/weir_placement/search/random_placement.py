"""A random placement of the written plan, for comparison (section 6.1 of 000)."""

from __future__ import annotations

from collections.abc import Mapping

from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import Found, best_of, strategy

DEFAULTS: dict[str, float] = {}
"""It has no options."""


def search(encoding: Encoding, options: Mapping[str, float], deadline: float) -> Found:
    """One random configuration."""
    return Found(best_of(encoding, encoding.run(code.SCATTER), polished=False))


random_placement = strategy("random", search, DEFAULTS)
"""Plans a problem by chance."""
