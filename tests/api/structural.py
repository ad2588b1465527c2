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
    wanted = schema.get("type")
    if wanted and (
        not isinstance(value, TYPES[wanted]) or (isinstance(value, bool) and wanted in ("integer", "number"))
    ):
        yield f"{path}: {value!r} is no {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", math.inf):
            yield f"{path}: {len(value)} letters, {schema['maxLength']} allowed"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{path}: {value!r} is not like {schema['pattern']}"
    elif isinstance(value, Mapping):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{path}.{name} is required"
        properties = schema.get("properties", {})
        for name, child in value.items():
            yield from violations(
                properties.get(name, schema.get("additionalProperties") or {}), child, f"{path}.{name}"
            )
    elif isinstance(value, list | tuple):
        if len(value) > schema.get("maxItems", math.inf):
            yield f"{path}: {len(value)} items, {schema['maxItems']} allowed"
        if schema.get("x-kubernetes-list-type") == "set" and len(set(map(str, value))) < len(value):
            yield f"{path}: an item twice"
        for i, child in enumerate(value):
            yield from violations(schema.get("items", {}), child, f"{path}[{i}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            yield f"{path}: JSON has no {value}"
        if value < schema.get("minimum", -math.inf) or value > schema.get("maximum", math.inf):
            yield f"{path}: {value} is out of bounds"
