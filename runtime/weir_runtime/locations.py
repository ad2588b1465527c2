"""Leases, and a host's orders, by where they lie: a file's path, or `kubernetes:NAMESPACE/NAME`."""

from __future__ import annotations

import os

from weir_placement.model.fragment import FragmentError

from weir_runtime.api_server import Server
from weir_runtime.host_orders import FileOrders, KubernetesOrders, Orders
from weir_runtime.kubernetes_lease import SCHEME, KubernetesLease
from weir_runtime.lease import FileLease


def lease_at(location: str, field: str = "fragment.lease") -> FileLease | KubernetesLease:
    """Of a fragment, or of a host. Raises FragmentError, which names the `field`."""
    if not location.startswith(SCHEME):
        return FileLease(location)
    return KubernetesLease(*_object(location, field))


def orders_at(desired: str, state: str) -> Orders:
    """Of a host. Raises FragmentError."""
    if not desired.startswith(SCHEME):
        return FileOrders(desired, state)
    server, namespace, name = _object(desired, "host.desired")
    pod = os.environ.get("POD_UID", "")
    return KubernetesOrders(server, namespace, name, _object(state, "host.state")[2], pod)


def _object(location: str, field: str) -> tuple[Server, str, str]:
    """The API server of this pod, and the object's namespace and name there."""
    namespace, _, name = location.removeprefix(SCHEME).partition("/")
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not namespace or not name:
        raise FragmentError(f"{field}: {location!r}; write kubernetes:NAMESPACE/NAME")
    if not host:
        raise FragmentError(
            f"{field}: {location!r}, but this process does not run in a pod; give a file's path"
        )
    port = int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))
    return Server.of_pod(host, port), namespace, name
