"""Whose field is which: server-side apply, and what each other write takes over, as the API server does it.

A path names one value: names of fields, and for an item of a keyed list or a set what it is found by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[Any, ...]
Schema = Mapping[str, Any]
Owner = tuple[str, str, str]
"""Manager, operation (Apply or Update), subresource."""

OWNER_REFERENCES = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"]}
METADATA = {
    "properties": {"ownerReferences": OWNER_REFERENCES, "finalizers": {"x-kubernetes-list-type": "set"}}
}
_OF_NOBODY = (
    "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
)  # fmt: skip
_GONE = object()


def _field(schema: Schema, name: str) -> Schema:
    return (schema.get("properties") or {}).get(name) or schema.get("additionalProperties") or {}


def _keyed(schema: Schema, items: list[Any]) -> dict[Any, Any] | None:
    """The items by what they are found by; None: the list is one value, or nothing that is keyed."""
    if not all(
        isinstance(item, Mapping) == (schema.get("x-kubernetes-list-type") == "map") for item in items
    ):
        return None
    if schema.get("x-kubernetes-list-type") == "map":
        names = schema["x-kubernetes-list-map-keys"]
        return {("item", *(str(item.get(name)) for name in names)): item for item in items}
    if schema.get("x-kubernetes-list-type") == "set":
        return {("item", str(item)): item for item in items}
    return None


def _children(schema: Schema, value: Any) -> list[tuple[Any, Schema, Any]] | None:
    """Name, schema and value of each part; None of what is one value."""
    if isinstance(value, Mapping):
        return [(name, _field(schema, name), child) for name, child in value.items()]
    if isinstance(value, list) and (keyed := _keyed(schema, value)) is not None:
        return [(key, schema.get("items") or {}, item) for key, item in keyed.items()]
    return None


def leaves(schema: Schema, value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value with its path; an empty map is one too, an empty keyed list is not."""
    children = _children(schema, value)
    if not children:
        if children is None or isinstance(value, Mapping):
            yield path, value
        return
    for name, child_schema, child in children:
        if path == ("metadata",) and name in _OF_NOBODY:
            continue
        yield from leaves(child_schema, child, (*path, name))


def _merged(schema: Schema, old: Any, new: Any) -> Any:
    """`new` over `old`, item by item where a list is keyed."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        both = {name: _merged(_field(schema, name), old.get(name), child) for name, child in new.items()}
        return {**old, **both}
    if isinstance(old, list) and isinstance(new, list):
        before, after = _keyed(schema, old), _keyed(schema, new)
        if before is not None and after is not None:
            item = schema.get("items") or {}
            return list({**before, **{k: _merged(item, before.get(k), v) for k, v in after.items()}}.values())
    return new


def _pruned(schema: Schema, value: Any, gone: set[Path], given: set[Path], path: Path = ()) -> Any:
    """`value` without what is gone; what has become empty by it goes too, or, a map that was given as an
    empty one, becomes a null."""
    children = _children(schema, value)
    if not children:
        return _GONE if path in gone else value
    left = []
    for name, child_schema, child in children:
        rest = _pruned(child_schema, child, gone, given, (*path, name))
        if rest is not _GONE:
            left.append((name, rest))
        elif isinstance(child, Mapping) and (*path, name) in given:
            left.append((name, None))
    if not left:
        return _GONE
    return dict(left) if isinstance(value, Mapping) else [item for _, item in left]


class Ownership:
    """Of the fields of one object."""

    def __init__(self) -> None:
        self._paths: dict[Owner, set[Path]] = {}

    def apply(self, schema: Schema, old: Any, new: Any, owner: Owner) -> Any:
        """`old` after `owner` has applied `new`, by force: what it applied before and does not apply now
        goes, unless it is another's too."""
        values = dict(leaves(schema, new))
        before = self._paths.get(owner, set())
        result = _merged(schema, old, new)
        for other, paths in self._paths.items():
            if other != owner:
                old_values = dict(leaves(schema, old))
                paths -= {path for path in paths if path in values and old_values.get(path) != values[path]}
        others = set().union(*(paths for other, paths in self._paths.items() if other != owner))
        gone = before - set(values) - others
        self._paths[owner] = set(values)
        return _pruned(schema, result, gone, set(values)) if gone else result

    def update(self, schema: Schema, old: Any, new: Any, owner: Owner) -> None:
        """`owner` has written `new` over `old` without server-side apply: what differs is its own now."""
        before, after = dict(leaves(schema, old)), dict(leaves(schema, new))
        changed = {path for path, value in after.items() if path not in before or before[path] != value}
        for paths in self._paths.values():
            paths -= changed | (before.keys() - after.keys())
        self._paths.setdefault(owner, set()).update(changed)
