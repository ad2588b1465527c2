"""What a report says of how good its plan can be at all, and over which plans that holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_placement.model.space import Space


def proved(report: Mapping[str, Any]) -> bool:
    """Whether no plan is better, of all or of those that `over_space` names."""
    return bool(report.get("proven") or report.get("provenWithin"))


def over_space(report: Mapping[str, Any]) -> str:
    """` over ...` in plain words, where plans are not searched for over all that there are."""
    space = report.get("provenWithin") or (report.get("extra") or {}).get("space")
    return f" over {space}" if space not in (None, Space.ALL.words) else ""
