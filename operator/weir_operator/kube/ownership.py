"""Which Pods, Leases and disruption budgets are a fragment's.

Anybody may write labels: an object with a fragment's labels in another namespace than its Placement is
ignored, so that no namespace disturbs another's queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.kube import names

Manifest = Mapping[str, Any]


def namespaces_of_fragments(objects: Iterable[Manifest]) -> dict[str, str]:
    """Fragment (as labels name it) -> namespace, as the Placements say; of two that claim one, the older."""
    namespaces: dict[str, str] = {}
    placements = [o for o in objects if o["kind"] == "Placement"]
    for placement in sorted(placements, key=lambda o: str(o["metadata"].get("creationTimestamp", ""))):
        planned = (placement.get("spec") or {}).get("fragments") or ()
        owned = (placement.get("status") or {}).get("owned") or ()
        for fragment in (*(entry["name"] for entry in planned), *owned):
            namespaces.setdefault(names.object_name(fragment), placement["metadata"]["namespace"])
    return namespaces


def in_own_namespace(
    manifests: Iterable[dict[str, Any]], namespaces: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Those in the namespace of their fragment, or of a fragment that no Placement names (any more); Pods
    with an invalid epoch are left out."""
    result = []
    for manifest in manifests:
        meta = manifest["metadata"]
        if manifest["kind"] == "Pod" and epoch_of(manifest) is None:
            continue
        if namespaces.get(meta["labels"][names.FRAGMENT], meta["namespace"]) == meta["namespace"]:
            result.append(manifest)
    return result


def epoch_of(pod: Manifest) -> int | None:
    """None: not a pod of Weir's, whatever its labels say."""
    text = pod["metadata"]["labels"][names.EPOCH]
    return int(text) if text.isdecimal() and len(text) < 10 else None
