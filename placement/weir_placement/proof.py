"""What a reached bound proves: that no plan is better, or none of some that are named in plain words."""

from __future__ import annotations

from dataclasses import replace

from weir_placement.model.plan import Result

ALL = "all legal swaps of operators"


def with_proof(result: Result, reached: bool) -> Result:
    """The result, proven where its bound is reached and holds for all plans; where it holds for some of them
    (`extra["space"]`), proven within these."""
    space = result.extra.get("space", ALL)
    proven = reached and space == ALL
    return replace(result, proven=proven, proven_within=space if reached and not proven else "")
