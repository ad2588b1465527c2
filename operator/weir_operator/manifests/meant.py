"""An object as it was meant where names of fields are mistyped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from weir_placement.model.suggestion import near

from weir_operator.api.base import Model, bare


def with_meant_names(kind: Any, raw: Any) -> Any:
    """A copy of `raw`, of a bare type, with fields that its models do not have under the names that they are
    written most like, where nothing else is. Complexity: linear in its values."""
    if get_origin(kind) is list and isinstance(raw, list):
        return [with_meant_names(bare(get_args(kind)[0]), item) for item in raw]
    if not isinstance(kind, type) or not issubclass(kind, Model) or not isinstance(raw, Mapping):
        return raw
    kinds = {field.alias or name: bare(field.annotation) for name, field in kind.model_fields.items()}
    renamed = dict(raw)
    for name in raw if kind.model_config.get("extra") == "forbid" else ():
        meant = near(str(name), kinds) if name not in kinds else ""
        if meant and meant not in renamed:
            renamed[meant] = renamed.pop(name)
    return {name: with_meant_names(kinds.get(name), value) for name, value in renamed.items()}
