"""What a report says of how good its plan can be at all, and over which plans that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_placement.search.spaces import ALL


def over_space(report: Mapping[str, Any]) -> str:
    """` over ...` in plain words, where plans are not searched for over all that there are."""
    space = (report.get("extra") or {}).get("space", ALL)
    return f" over {space}" if space != ALL else ""
