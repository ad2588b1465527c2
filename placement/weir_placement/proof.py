"""What a reached bound proves: that no plan is better, or none of some."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.model.plan import Result
from weir_placement.model.space import Space


def with_proof(result: Result, reached: bool) -> Result:
    """The result, proven where its bound is reached and holds for all plans; where it holds for some of them
    (`space`), proven within these."""
    of_all = result.space in (None, Space.ALL)
    return replace(
        result, proven=reached and of_all, proven_within=result.space if reached and not of_all else None
    )
