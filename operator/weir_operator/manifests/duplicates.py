"""Entries that a list may have once: the API server refuses the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from weir_operator.api.base import Model, bare
from weir_operator.manifests.finding import shown


def duplicates(kind: Any, raw: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """(path, what is wrong, what would be right) of each entry of `raw`, of a bare type, that is twice in a
    set, or has the key of another in a list that is keyed."""
    if not isinstance(kind, type) or not issubclass(kind, Model) or not isinstance(raw, Mapping):
        return
    for name, field in kind.model_fields.items():
        alias, inner = field.alias or name, bare(field.annotation)
        items, at = raw.get(alias), f"{path}.{alias}".lstrip(".")
        if get_origin(inner) is not list or not isinstance(items, list):
            yield from duplicates(inner, items, at)
            continue
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, Mapping) else {}
        yield from _again(items, at, extra)
        for i, item in enumerate(items):
            yield from duplicates(bare(get_args(inner)[0]), item, f"{at}[{i}]")


def _again(items: list[Any], path: str, extra: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    names = tuple(extra.get("x-kubernetes-list-map-keys", ()))
    earlier: set[tuple[str, ...]] = set()
    for i, item in enumerate(items):
        entry = _key(item, names, extra.get("x-kubernetes-list-type"))
        if entry is not None and entry in earlier:
            right = f"give each its own {' and '.join(names)}" if names else "keep one"
            field = f".{names[0]}" if len(names) == 1 else ""
            yield f"{path}[{i}]{field}", f"{' -> '.join(entry)} is used twice", right
        if entry is not None:
            earlier.add(entry)


def _key(item: Any, names: tuple[str, ...], kind: Any) -> tuple[str, ...] | None:
    """What only one entry may have; None where there is no such thing, or it is missing."""
    if kind == "set" and isinstance(item, str):
        return (item,)
    if kind == "map" and isinstance(item, Mapping) and all(item.get(name) is not None for name in names):
        return tuple(shown(item[name]).strip('"') for name in names)
    return None
