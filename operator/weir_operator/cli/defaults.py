"""`weir explain --defaults`: objects with every default that applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml


def print_defaults(paths: Sequence[str], namespace: str) -> int:
    """Prints the objects below `paths` as Weir reads them; without paths the built-in ones.

    Raises:
        ManifestError: they have errors.
    """
    from weir_operator.manifests.load import load
    from weir_operator.manifests.objects import default_policy, default_topology

    items: list[Any] = [default_policy(), default_topology()]
    if paths:
        objects = load(paths, namespace).objects
        items = [item for key in objects.documents for item in [objects.get(key)] if key.kind != "Node"]
    texts = [_text(item) for item in items if item is not None]
    print("---\n".join(texts), end="")
    return 0


def _text(item: Any) -> str:
    raw = item.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"status": True})
    raw["metadata"] = {key: raw["metadata"][key] for key in ("name", "namespace") if raw["metadata"][key]}
    return str(yaml.dump(raw, Dumper=yaml.CSafeDumper, sort_keys=False, width=110))
