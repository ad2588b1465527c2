"""How long windows wait for windows: aggregates over other aggregates' times inside of one fragment.

A fragment has one watermark, and an aggregate gives a window's row when the watermark passes the window's
end. An aggregate above it that groups by `window.start` would find that time already passed, and the row
late. So it waits, for its rows alone: as long as the times that it groups by may lie behind the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weir_placement.model.operators import Operator


def waits(operators: Iterable[Operator]) -> dict[str, int]:
    """[us] by the ids of a fragment's aggregates, given in topological order: how long beyond its windows'
    ends each waits for the windows of others. What reads no other aggregate of the fragment waits 0.

    O(operators times columns that are such times).
    """
    behind: dict[str, Mapping[str, int]] = {}  # column -> how far below the watermark it may come, by stream
    wait_of: dict[str, int] = {}
    for op in operators:
        below: dict[str, int] = {}
        for name in op.inputs:
            for column, late in behind.get(name, {}).items():
                below[column] = max(late, below.get(column, 0))
        if op.grouped_time:
            wait_of[op.id] = below.get(op.grouped_time, 0)
        behind[op.id] = op.lag(below)
    return wait_of
