"""What a report says of how good its plan can be at all, and over which plans that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_placement.search.spaces import ALL, WRITTEN


def over_space(report: Mapping[str, Any]) -> str:
    """` over ...` in plain words, where it is not over all plans; "" where nothing is claimed."""
    space = (report.get("extra") or {}).get("space", ALL)
    claimed = report.get("proven") or report.get("gap") is not None or space == WRITTEN
    return f" over {space}" if claimed and space != ALL else ""
