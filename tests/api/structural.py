"""What an API server would refuse of a value by a structural schema: only what our schemas use."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[2] / "crds"
LARGEST = 2**63  # and not below minus that: what a whole number may be
TYPES: dict[str, tuple[type, ...]] = {
    "object": (Mapping,), "array": (list, tuple), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, float),
}  # fmt: skip


@cache
def schema_of(kind: str, part: str) -> Mapping[str, Any]:
    """Of `spec` or `status`, from the file that is applied to a cluster."""
    for file in CRDS.glob("*.yaml"):
        definition = yaml.safe_load(file.read_text())["spec"]
        if definition["names"]["kind"] == kind:
            whole = definition["versions"][0]["schema"]["openAPIV3Schema"]
            return dict(whole["properties"][part])
    raise LookupError(kind)


def violations(schema: Mapping[str, Any], value: Any, path: str = "") -> Iterator[str]:
    """Every reason for a 422, with its path."""
    wanted = ["integer", "string"] if schema.get("x-kubernetes-int-or-string") else [schema.get("type")]
    if wanted != [None] and not any(_is_a(str(kind), value) for kind in wanted):
        yield f"{path}: {value!r} is no {' or '.join(map(str, wanted))}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
            yield f"{path}: {len(value)} letters, {_allowed(schema, 'Length')} allowed"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: {value!r} is not like {schema['pattern']}"
    elif isinstance(value, Mapping):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{name} is required"
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", math.inf):
            yield f"{path}: {len(value)} fields, {_allowed(schema, 'Properties')} allowed"
        properties = schema.get("properties", {})
        for name, child in value.items():
            yield from violations(
                properties.get(name, schema.get("additionalProperties") or {}), child, f"{path}.{name}"
            )
    elif isinstance(value, list | tuple):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            yield f"{path}: {len(value)} items, {_allowed(schema, 'Items')} allowed"
        keys = [_key_of(schema, item) for item in value]
        if schema.get("x-kubernetes-list-type") != "atomic" and len(set(keys)) < len(keys):
            yield f"{path}: an item twice"
        for i, child in enumerate(value):
            yield from violations(schema.get("items", {}), child, f"{path}[{i}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            yield f"{path}: JSON has no {value}"
        least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        above = value > least if schema.get("exclusiveMinimum") else value >= least
        below = value < most if schema.get("exclusiveMaximum") else value <= most
        if not (above and below):
            yield f"{path}: {value} is out of bounds"


def _is_a(kind: str, value: Any) -> bool:
    if kind == "integer" and isinstance(value, int) and not -LARGEST <= value < LARGEST:
        return False
    number = isinstance(value, bool) and kind in ("integer", "number")
    return isinstance(value, TYPES[kind]) and not number


def _allowed(schema: Mapping[str, Any], what: str) -> str:
    return f"{schema.get('min' + what, 0)} to {schema.get('max' + what, 'any number')}"


def _key_of(schema: Mapping[str, Any], item: Any) -> str:
    """By which no two items of a set or a keyed list may be the same."""
    names = schema.get("x-kubernetes-list-map-keys")
    return str([item.get(name) for name in names] if names and isinstance(item, Mapping) else item)
