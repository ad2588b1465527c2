"""Fields of raw objects, which may not be as the schema says: `parse` reports that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.times import seconds


def part(raw: Manifest, field: str) -> Mapping[str, Any]:
    """A field that holds fields; empty when it is absent, or something else.

    >>> part({"spec": "x"}, "spec"), part({"spec": {"rate": 1}}, "spec")
    ({}, {'rate': 1})
    """
    value = raw.get(field)
    return value if isinstance(value, Mapping) else {}


def generation(raw: Manifest, absent: int) -> int:
    """metadata.generation, a whole number.

    >>> generation({"metadata": {"generation": 3}}, 1), generation({"metadata": {"generation": "x"}}, 1)
    (3, 1)
    """
    value = part(raw, "metadata").get("generation")
    return value if isinstance(value, int) and not isinstance(value, bool) else absent


def parts(raw: Manifest, field: str) -> list[Mapping[str, Any]]:
    """The entries of a list that hold fields.

    >>> parts({"taints": [{"key": "a"}, "x"]}, "taints"), parts({"taints": "x"}, "taints")
    ([{'key': 'a'}], [])
    """
    value = raw.get(field)
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def created(manifest: Manifest) -> float:
    """When it was created [s since 1970]; 0 where that cannot be read."""
    try:
        return seconds(part(manifest, "metadata").get("creationTimestamp"))
    except (TypeError, ValueError, OverflowError):
        return 0.0
