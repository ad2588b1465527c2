"""How long windows wait for windows: aggregates over other aggregates' times inside of one fragment.

A fragment has one watermark, and an aggregate gives a window's row when the watermark passes the window's
end. An aggregate above it that groups by `window.start` would find that time already passed, and the row
late. So it waits, for its rows alone: as long as the times that it groups by may lie behind the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weir_placement.model.operators import Aggregate, Operator, Project


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
        if isinstance(op, Aggregate):
            wait = wait_of[op.id] = below.get(op.time, 0)
            below = {"window.end": wait, "window.start": wait + round(op.window * 1e6)}
        elif isinstance(op, Project):
            plain = {item.name: item.expression.replace("`", "") for item in op.items}
            below = {name: below[column] for name, column in plain.items() if column in below}
        behind[op.id] = below
    return wait_of
