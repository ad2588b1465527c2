"""What a report says of a headroom that is enough, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.planning.proof import proved


def minimised(report: Mapping[str, Any]) -> bool:
    """Whether its plan has the headroom that is enough, so that what it costs was made less."""
    return bool((report.get("enough") or {}).get("reached"))


def enough_words(report: Mapping[str, Any]) -> str:
    """What was planned for where a headroom is enough; "" where none was asked for.

    >>> enough_words({"enough": {"headroom": 2.0, "reached": True, "hosts": 3, "leastHosts": 2}})
    '2x is enough: hosts (3; none has fewer than 2), then network usage minimised'
    >>> enough_words({"enough": {"headroom": 2.0, "reached": False, "hosts": 3, "leastHosts": None}})
    '2x would be enough, but no plan that was found has it: headroom maximised'
    """
    enough = report.get("enough")
    if not enough:
        return ""
    wanted = f"{enough['headroom']:g}x"
    if not enough["reached"]:
        return f"{wanted} would be enough, but no plan that was found has it: headroom maximised"
    least = enough["leastHosts"]
    fewest = f"; none has fewer than {least}" if least and not proved(report) else ""
    return f"{wanted} is enough: hosts ({enough['hosts']}{fewest}), then network usage minimised"
