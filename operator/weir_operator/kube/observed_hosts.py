"""What belongs to hosts, of what is labelled so: anybody may write labels. How their orders are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.controller.ports import Refused
from weir_operator.kube import names
from weir_operator.kube.api import Api, ApiError
from weir_operator.kube.host_objects import STATE_SUFFIX
from weir_operator.kube.hosted_process import ObservedHost
from weir_operator.kube.lease import read_lease
from weir_operator.kube.owner_references import OwnerReference

MOST_BYTES = 900_000
"""Of all entries of a host: the API server refuses objects of more than 1 MiB."""

_CONFLICT = 409
_TRIES = 5

HostKey = tuple[str, str]  # namespace, name


def observed_hosts(
    maps: Iterable[Mapping[str, Any]],
    pods: Iterable[Mapping[str, Any]],
    leases: Iterable[Mapping[str, Any]],
    home: Mapping[str, str],
) -> dict[HostKey, ObservedHost]:
    """Hosts by namespace and name; what is not owned as a host's is left out.

    Args:
        home: the namespace of each fragment, as the Placements say: no other one's hosts have it.
    """
    maps = list(maps)
    orders = {_key(m): _of_home(m, home) for m in maps if _role(m) == "host-orders" and is_orders(m)}
    states = {_key(m): m for m in maps if _role(m) == "host-state"}
    own_pods = {_key(p): p for p in pods if _belongs(p, orders)}
    own_leases = {_key(m): read_lease(m) for m in leases if _belongs(m, orders)}
    result = {}
    for (namespace, name), manifest in orders.items():
        pod = own_pods.get((namespace, name))
        report = _said(states.get((namespace, f"{name}{STATE_SUFFIX}")), pod)
        result[namespace, name] = ObservedHost(manifest, pod, report, own_leases.get((namespace, name)))
    return result


def _of_home(orders: Mapping[str, Any], home: Mapping[str, str]) -> Mapping[str, Any]:
    """Without entries of fragments of other namespaces."""
    namespace, data = orders["metadata"]["namespace"], {}
    for key, text in (orders.get("data") or {}).items():
        if home.get(key.rpartition("-e")[0], namespace) == namespace:
            data[key] = text
    return {**orders, "data": data}


def write_entry(
    api: Api, host: ObservedHost, owner: OwnerReference | None, key: str, text: str | None
) -> Mapping[str, Any]:
    """An entry (None: none), in the version that was read, and its query's Placement as one more owner; the
    others stay. The orders as they are then.

    Raises ApiError, and Refused where nothing more fits into one object.
    """
    for _ in range(_TRIES):
        orders = api.get("ConfigMap", host.namespace, host.name)
        if orders is None:
            raise ApiError(404, f"configmap {host.name} is gone")
        present, owners = orders.get("data") or {}, list(orders["metadata"].get("ownerReferences") or ())
        data = {name: value for name, value in present.items() if name != key}
        data |= {} if text is None else {key: text}
        if sum(map(len, data.values())) > MOST_BYTES:
            raise Refused(
                f"{host.name} has no room for what its fragments are told, more than {MOST_BYTES} bytes; "
                "write isolation: Dedicated"
            )
        more = owner is not None and owner.uid not in {own["uid"] for own in owners}
        if owner is not None and more:
            owners.append(owner.reference(controller=False))
        if data != present or more:
            meta = {**orders["metadata"], "ownerReferences": owners}
            try:
                orders = api.replace(
                    {**orders, "apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
                )
            except ApiError as error:
                if error.status == _CONFLICT:
                    continue
                raise
        return {**host.orders, **orders}
    raise ApiError(_CONFLICT, f"configmap {host.name}: {_TRIES} writes in a row collided")


def _key(manifest: Mapping[str, Any]) -> HostKey:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


def _role(manifest: Mapping[str, Any]) -> str:
    return str((manifest["metadata"].get("labels") or {}).get(names.ROLE, ""))


def is_orders(manifest: Mapping[str, Any]) -> bool:
    """Whether Weir made it as a host's orders: named as its label says, owned by Placements."""
    meta = manifest["metadata"]
    labels, owners = meta.get("labels") or {}, meta.get("ownerReferences") or ()
    named = labels.get(names.HOST) == meta["name"] and labels.get(names.MANAGED_BY) == names.FIELD_MANAGER
    return named and any(owner.get("kind") == "Placement" for owner in owners)


def _belongs(manifest: Mapping[str, Any], orders: Mapping[HostKey, Mapping[str, Any]]) -> bool:
    """Whether it is the host's of that name, and not only called so."""
    own = orders.get(_key(manifest))
    return own is not None and is_owned_by(manifest, own)


def is_owned_by(manifest: Mapping[str, Any], orders: Mapping[str, Any]) -> bool:
    """Whether it goes with a host's orders."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return any(owner.get("uid") == orders["metadata"]["uid"] for owner in owners)


def _said(
    state: Mapping[str, Any] | None, pod: Mapping[str, Any] | None
) -> Mapping[str, Mapping[str, Any]] | None:
    """What the present Pod says; what another said of it before is not known to be so."""
    try:
        report = json.loads((state or {}).get("data", {})["state"])
        if pod is None or report["pod"] != pod["metadata"]["uid"]:
            return None
        fragments: dict[str, Any] = report["fragments"]
        return {key: about for key, about in fragments.items() if isinstance(about, dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
