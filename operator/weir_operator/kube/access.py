"""What a driver may do at the API server: keep its own Lease, and nothing else."""

from __future__ import annotations

from typing import Any

from weir_operator.kube import names
from weir_operator.kube.owner import Owner, metadata

_RBAC = "rbac.authorization.k8s.io"


def build_service_account_spec(namespace: str, fragment: str, query: str, owner: Owner) -> dict[str, Any]:
    """An account of the fragment's own; the token is mounted by the Pod that asks for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "automountServiceAccountToken": False,
    }


def build_role_spec(namespace: str, fragment: str, query: str, owner: Owner) -> dict[str, Any]:
    """The rights of one fragment: its own Lease by name. A stolen token opens nothing else."""
    rule = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [names.object_name(fragment)],
        "verbs": ["get", "update", "watch"],
    }
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "rules": [rule],
    }


def build_role_binding_spec(
    namespace: str, fragment: str, query: str, owner: Owner, account: str | None = None
) -> dict[str, Any]:
    """Binds the fragment's Role to its account, or to `account` when the policy names one."""
    name = names.object_name(fragment)
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name, namespace, names.labels(fragment, query), owner),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account or name, "namespace": namespace}],
    }
