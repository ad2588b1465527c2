"""The example's manifests as kustomize makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).parents[2]
FLIGHTS = REPOSITORY / "examples" / "flights"


def manifests() -> list[dict[str, Any]]:
    """What `kubectl kustomize` makes of the example, but for names of namespaces and images."""
    kustomization = yaml.safe_load((FLIGHTS / "kustomization.yaml").read_text())
    objects = [
        manifest
        for file in kustomization["resources"]
        for manifest in yaml.safe_load_all((FLIGHTS / file).read_text())
    ]
    for patch in kustomization["patches"]:
        (wanted,) = [
            m for m in objects if {"kind": m["kind"], "name": m["metadata"]["name"]} == patch["target"]
        ]
        for change in yaml.safe_load(patch["patch"]):
            _, part, field = change["path"].split("/")
            assert change["op"] == "replace"
            assert field in wanted[part]
            wanted[part][field] = change["value"]
    return objects
