"""What Weir writes, fitted to the schema of its own kind: the API server refuses nothing of it.

Texts of a status hold what pods, planners and people say, at any length, and a refused status (422) would
keep its query from ever starting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from weir_operator.api.crds import crd
from weir_operator.api.kinds import KINDS


def fit(kind: str, part: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """`value` as the schema of the kind's `spec` or `status` admits it: texts cut by `clip`, lists shortened
    to the beginning that may be, what is None and numbers that JSON does not have left out.

    Keyed lists and sets, which are read back, stay whole. Fitting twice is fitting once. O(size of value).
    """
    fitted: dict[str, Any] = _fitted(_schema(kind, part), value)
    return fitted


def clip(text: str, most: int) -> str:
    """The text if it has at most `most` characters, otherwise its beginning up to a word, and its length.

    >>> clip("one, two, three, four, five, six, seven, eight, nine, ten", 48)
    'one, two, three, four, … (57 characters in all)'
    >>> clip("running", 5)
    'runn…'
    """
    if len(text) <= most:
        return text
    note = f"… ({len(text)} characters in all)"
    room = most - len(note)
    if room < len(note):
        return text[: most - 1] + "…"
    end = max(text.rfind(" ", 0, room), text.rfind("\n", 0, room)) + 1
    return text[: end if end > room // 2 else room] + note


@cache
def _schema(kind: str, part: str) -> Mapping[str, Any]:
    definition = crd(next(k for k in KINDS if k.name == kind))
    whole = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema: Mapping[str, Any] = whole["properties"][part]
    return schema


def _fitted(schema: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, str):
        return clip(value, schema["maxLength"]) if "maxLength" in schema else value
    if isinstance(value, Mapping) and "properties" in schema:
        fields = schema["properties"]
        return {name: _fitted(fields.get(name, {}), item) for name, item in value.items() if _is_value(item)}
    if isinstance(value, list | tuple) and "items" in schema:
        most = schema["maxItems"] if schema.get("x-kubernetes-list-type") == "atomic" else len(value)
        return [_fitted(schema["items"], item) for item in value[:most]]
    return value


def _is_value(value: Any) -> bool:
    """Whether JSON has it, and a schema takes it: no type of ours may be null."""
    return value is not None and (not isinstance(value, float) or math.isfinite(value))
