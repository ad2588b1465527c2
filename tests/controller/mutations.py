"""Ways in which one object may be broken."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

ODD: list[Any] = [
    None, "", " ", "x" * 300, "a/\n", "7", "-1", "1e400", "NaN", "10Gi", "{}", "default", 0, -1, 2**63,
    10**400, 1e308, True, False, [], [None], ["x"], [{}], {}, {"": ""}, {"x": None}, {"x": {"y": []}},
]  # fmt: skip

IDENTITY = [("metadata",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid")]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all that an object holds; kind and identity stay: a ghost of `b` would be `b` edited."""
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        below = (*path, key)
        if below[0] not in ("kind", "apiVersion") and below not in IDENTITY:
            yield below
        yield from places(inner, below)


def mutated(raw: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The object with another value at a path; without that field for `...`."""
    (key, *rest), changed = path, copy.copy(raw)
    if rest:
        changed[key] = mutated(raw[key], tuple(rest), value)
    elif value is ...:
        del changed[key]
    else:
        changed[key] = value
    return changed
