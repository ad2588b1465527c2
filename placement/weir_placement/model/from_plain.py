"""Reads what was stored: plain values, as JSON has them, become the model's dataclasses again.

A class whose stored form differs from its fields has a static method `unstored` from the one to the other.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from weir_placement.model.operator_form import fields_of
from weir_placement.model.operators import KINDS, Operator

_EXAMPLES: dict[Any, str] = {float: "0.5", int: "3", str: '"text"', bool: "true"}


class FormError(ValueError):
    """A stored value that is not of its type; the message names its path and what would be right."""


def build_plain(kind: Any, raw: Any, path: str) -> Any:
    """`raw` (from JSON) as an instance of `kind`: dataclasses, tuples, mappings, literals, numbers.

    Raises:
        FormError: a field is missing, of another type, or not known; `path` is where `raw` stands.
    """
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, raw, path)
    if kind == Operator:
        return _build_operator(raw, path)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        if not isinstance(raw, list | tuple):
            raise FormError(f"{path}: {raw!r} is not a list, as [..., ...]")
        return tuple(build_plain(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(raw))
    if origin is Literal:
        if raw not in arguments:
            raise FormError(f"{path}: {raw!r} is not one of {', '.join(map(str, arguments))}")
        return raw
    if origin in (Union, UnionType):
        return None if raw is None else build_plain(arguments[0], raw, path)
    expected: dict[Any, Any] = {float: (int, float), int: int, str: str, bool: bool}
    if not isinstance(raw, expected.get(kind, dict)) or (isinstance(raw, bool) and kind is not bool):
        name = getattr(kind, "__name__", "mapping")
        raise FormError(f"{path}: {raw!r} is not of type {name}, as {_EXAMPLES.get(kind, '{}')}")
    return float(raw) if kind is float else raw


def _build_operator(raw: Any, path: str) -> Operator:
    """An operator as `operator_form` writes it."""
    if not isinstance(raw, dict):
        raise FormError(f"{path}: {raw!r} is not an object")
    if "kind" not in raw:
        raise FormError(f"{path}.kind: missing")
    if raw["kind"] not in KINDS:
        raise FormError(f"{path}.kind: {raw['kind']!r} is not one of {', '.join(KINDS)}")
    kind = KINDS[raw["kind"]]
    operator: Operator = _build_dataclass(kind, fields_of(raw, kind), path)
    return operator


def _build_dataclass(kind: Any, raw: Any, path: str) -> Any:
    if not isinstance(raw, dict):
        raise FormError(f"{path}: {raw!r} is not an object")
    raw = kind.unstored(raw) if hasattr(kind, "unstored") else raw
    hints, required = _fields(kind)
    for name in raw:
        if name not in hints:
            raise FormError(f"{path}.{name}: no such field (known: {', '.join(hints)})")
    for name in required:
        if name not in raw:
            raise FormError(f"{path}.{name}: missing")
    return kind(**{name: build_plain(hints[name], value, f"{path}.{name}") for name, value in raw.items()})


@cache
def _fields(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Types by name, and the names without a default. Kept: resolving them costs more than all the rest."""
    missing = dataclasses.MISSING
    fields, hints = dataclasses.fields(kind), get_type_hints(kind)
    bare = (f.name for f in fields if f.default is missing and f.default_factory is missing)
    return {f.name: hints[f.name] for f in fields}, tuple(sorted(bare))
