"""Operators as they are written down: in fragments' specs, in Placements, in reports, in names and hashes.

Every kind is written as the first version wrote it, with all the fields that any kind had then: names of
fragments and checkpoints are hashes of that, and what was stored stays readable. A field that came later is
written when it differs from its default, so that it changes no hash of an operator that does not use it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from weir_placement.model.operators import KINDS, Operator

_DECIDING: Mapping[str, Any] = {
    "id": "",
    "kind": "",
    "inputs": (),
    "columns": (),
    "predicate": "",
    "items": (),
    "on": "",
    "windows": (),
    "time": "",
    "window": 0.0,
    "slide": 0.0,
    "aggregations": (),
}
_ESTIMATES: Mapping[str, Any] = {
    "groups": 1.0,
    "selectivity": 1.0,
    "cost": 0.0,
    "cost_pair": 0.0,
    "cost_out": 0.0,
    "memory": 0.0,
    "row_overhead": 0.0,
    "delay": 0.0,
    "nodes": (),
    "origin": (),
}
_FIRST: Mapping[str, Any] = {**_DECIDING, **_ESTIMATES}
"""The fields of the first version in its order, with their defaults. Never change them."""


def semantics(op: Operator) -> dict[str, Any]:
    """What decides an operator's rows, as plain values: all but costs, estimates and where it may run."""
    return _written(op, _DECIDING, estimates=False)


def whole(op: Operator) -> dict[str, Any]:
    """All fields as plain values, nested ones as dictionaries."""
    return {**semantics(op), **_written(op, _ESTIMATES, estimates=True)}


def compact(op: Operator) -> dict[str, Any]:
    """`whole` without the first version's fields at their defaults."""
    return {name: value for name, value in whole(op).items() if name not in _FIRST or value != _FIRST[name]}


def as_plain(value: Any) -> dict[str, Any]:
    """The `default` of `json.dumps` for objects that may hold operators."""
    return whole(value) if isinstance(value, Operator) else vars(value)


def fields_of(raw: Mapping[str, Any], kind: type[Operator]) -> dict[str, Any]:
    """The fields that `kind` takes, and those that nothing is known of, so that a reader can refuse them."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in raw.items() if name in names or name not in _FIRST}


def _written(op: Operator, first: Mapping[str, Any], estimates: bool) -> dict[str, Any]:
    values = {name: _bare(getattr(op, name, default), default) for name, default in first.items()}
    for name, default, is_estimate in _later(op.kind):
        value = getattr(op, name)
        if is_estimate == estimates and value != default:
            values[name] = _bare(value, default)
    return values


@cache
def _later(kind: str) -> tuple[tuple[str, Any, bool], ...]:
    """Name, default and whether it is an estimate, of each field that the first version had not."""
    return tuple(
        (field.name, field.default, "estimate" in field.metadata)
        for field in dataclasses.fields(KINDS[kind])
        if field.name not in _FIRST
    )


def _bare(value: Any, default: Any = None) -> Any:
    """As plain values. A whole number where the default is a float is written as it is read again, 1 as 1.0:
    names and hashes are made of the text."""
    if isinstance(value, tuple):
        return tuple([_bare(item) for item in value])
    if isinstance(default, float):
        return float(value)
    return dict(vars(value)) if dataclasses.is_dataclass(value) else value
