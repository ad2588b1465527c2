"""Which fields names of fragments and hashes of plans are made of: those that decide rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

LATER = ("after", "executors")
"""Fields of inputs, outputs and fragments that versions after the first one have added."""


UNNAMED: Mapping[str, Any] = {"idle": 0, "bad_rows": {}, "max_ahead": None, "access": {}}
"""Fields of inputs that no name is made of, with their defaults."""


def digest(value: Any, letters: int) -> str:
    """The first letters of a value's hash, whatever the order of its keys. Names of what is stored are made
    of it: other letters for the same value would orphan them."""
    text = json.dumps(value, default=vars, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:letters]


def identity_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What names, hashes and specs are made of: later fields count only where they are set. Else an
    upgrade would replace every fragment, and read every stream again from its start."""
    return {name: value for name, value in fields.items() if name not in LATER or value}


POLICIES = ("onDataLoss",)
"""Options of a source that decide what happens when rows are lost."""


def identity_source(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source without its policies: a query whose topic has lost rows goes on where it was when a policy
    that lets it is set."""
    return {
        kind: {name: value for name, value in options.items() if name not in POLICIES}
        if isinstance(options, Mapping)
        else options
        for kind, options in source.items()
    }


LOGIN = ("security", "secretRef", "caSecretRef")
"""Fields of a source or sink, and of what is in them, that decide who reads or writes there."""


def is_same_place(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two sources, or two sinks' options, differ at most in policies and in who logs in: rows of
    one are the rows of the other."""
    return bool(_anonymous(identity_source(one)) == _anonymous(identity_source(other)))


def _anonymous(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: _anonymous(part) for name, part in value.items() if name not in LOGIN}
