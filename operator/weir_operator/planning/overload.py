"""Whether a reported plan carries its rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def carried(report: Mapping[str, Any]) -> float | None:
    """The share of the rates that the worst query carries, below 1; None: all carry theirs."""
    headrooms = [query.get("headroom") for query in report["queries"] if query["admitted"]]
    return min((headroom for headroom in headrooms if headroom is not None and headroom < 1), default=None)


def overload(report: Mapping[str, Any]) -> str:
    """What a plan that does not carry its rates is short of, in one line; "" for one that does, and where it
    is called infeasible already."""
    share = carried(report)
    if share is None or report.get("infeasible"):
        return ""
    short = f"{report['binding']} is short: " if report["binding"] else ""
    right = "lower rates or windows, or add nodes"
    return f"falls behind: at these rates the plan carries only {share:.3g} of them; {short}{right}"
