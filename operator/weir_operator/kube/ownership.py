"""Which Pods, Leases and disruption budgets are a fragment's.

Anybody may write labels: an object with a fragment's labels in another namespace than its Placement is
ignored, so that no namespace disturbs another's queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.controller.observed_state import Manifest
from weir_operator.kube import names
from weir_operator.kube.api import Api


def namespaces_of_fragments(objects: Iterable[Manifest]) -> dict[str, str]:
    """Fragment (as labels name it) -> namespace, as the Placements say; of two that claim one, the older."""
    namespaces: dict[str, str] = {}
    placements = [o for o in objects if o["kind"] == "Placement"]
    for placement in sorted(placements, key=lambda o: str(o["metadata"].get("creationTimestamp", ""))):
        for fragment in fragments_of(placement):
            namespaces.setdefault(names.object_name(fragment), placement["metadata"]["namespace"])
    return namespaces


def fragments_of(placement: Manifest) -> tuple[str, ...]:
    """Names of the fragments that a Placement plans, or still owns."""
    planned = (placement.get("spec") or {}).get("fragments") or ()
    return (*(entry["name"] for entry in planned), *((placement.get("status") or {}).get("owned") or ()))


def in_own_namespace(
    manifests: Iterable[dict[str, Any]], namespaces: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Those in the namespace of their fragment, or of a fragment that no Placement names (any more)."""
    return [
        manifest
        for manifest in manifests
        if namespaces.get((meta := manifest["metadata"])["labels"][names.FRAGMENT], meta["namespace"])
        == meta["namespace"]
    ]


def epoch_of(pod: Manifest) -> int:
    """Of a Pod that passes `shapes.check_fragment`."""
    return int(pod["metadata"]["labels"][names.EPOCH])


def own_pods(
    drivers: Iterable[Manifest], executors: Mapping[str, Iterable[Manifest]], objects: Iterable[Manifest]
) -> frozenset[str]:
    """Uids of the drivers that are named as Weir names them and owned by a Placement that is there, and of
    their executors (by the driver's uid). All others are load that the planner does not know."""
    placements = {o["metadata"]["uid"] for o in objects if o["kind"] == "Placement"}
    uids = set()
    for driver in drivers:
        meta = driver["metadata"]
        named = meta["name"] == names.pod_name(meta["labels"][names.FRAGMENT], epoch_of(driver))
        if named and any(owner["uid"] in placements for owner in meta.get("ownerReferences", ())):
            uids |= {meta["uid"], *(pod["metadata"]["uid"] for pod in executors.get(meta["uid"], ()))}
    return frozenset(uids)


def delete_own(api: Api, kind: str, namespace: str, fragment: str, name: str = "") -> None:
    """Deletes a fragment's object (`name`, or the fragment's own) if it is one of Weir's: made for it and
    owned by a Placement. A tenant may write the labels of a Lease that is named as something else is."""
    manifest = api.get(kind, namespace, name or names.object_name(fragment))
    if manifest is not None and made_for(manifest, fragment):
        api.delete(kind, namespace, manifest["metadata"]["name"], manifest["metadata"]["uid"])


def made_for(manifest: Manifest, fragment: str) -> bool:
    """Whether Weir made an object for a fragment: by its labels and its owner, a Placement."""
    meta = manifest["metadata"]
    labels, owners = meta.get("labels") or {}, meta.get("ownerReferences") or ()
    ours = labels.get(names.MANAGED_BY) == names.FIELD_MANAGER
    ours = ours and labels.get(names.FRAGMENT) == names.object_name(fragment)
    return ours and any(
        o.get("kind") == "Placement" and str(o.get("apiVersion")).startswith(f"{names.GROUP}/")
        for o in owners
    )
