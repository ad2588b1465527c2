"""A random placement of the written plan, for comparison (WhiteWater, section 6.1)."""

from __future__ import annotations

from weir_placement.options import NoOptions
from weir_placement.search.encode import Encoding
from weir_placement.search.kernel import entry_codes as code
from weir_placement.search.session import SearchResult, best_of, strategy


def search(encoding: Encoding, options: NoOptions, deadline: float) -> SearchResult:
    """One random configuration."""
    return SearchResult(best_of(encoding, encoding.run(code.SCATTER), polished=False))


RANDOM = strategy("random", "WhiteWater, section 6.1", "none", search, NoOptions)
