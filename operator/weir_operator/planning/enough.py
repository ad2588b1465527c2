"""What a report says of a headroom that is enough, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.planning.proof import proved


def minimised(report: Mapping[str, Any]) -> bool:
    """Whether its plan has the headroom that is enough, and it is known how few hosts such a plan has."""
    enough = report.get("enough") or {}
    return bool(enough.get("reached") and enough.get("leastHosts"))


def enough_words(report: Mapping[str, Any]) -> str:
    """What was planned for where a headroom is enough; "" where none was asked for.

    >>> enough = {"headroom": 2.0, "reached": True, "hosts": 3, "leastHosts": 2}
    >>> enough_words({"enough": enough})
    '2x is enough: hosts (3; none has fewer than 2), then network usage minimised'
    >>> enough_words({"enough": {**enough, "leastHosts": None}})
    '2x is enough: 3 hosts'
    >>> enough_words({"enough": {**enough, "reached": False}})
    '2x would be enough, but the plan does not have it'
    """
    enough = report.get("enough")
    if not enough:
        return ""
    wanted, hosts, least = f"{enough['headroom']:g}x", enough["hosts"], enough["leastHosts"]
    if not enough["reached"]:
        return f"{wanted} would be enough, but the plan does not have it"
    if not least:
        return f"{wanted} is enough: {hosts} host{'s' * (hosts != 1)}"
    fewest = "" if proved(report) else f"; none has fewer than {least}"
    return f"{wanted} is enough: hosts ({hosts}{fewest}), then network usage minimised"
