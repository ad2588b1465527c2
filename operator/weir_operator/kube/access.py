"""What a driver may do at the API server: renew its own Lease, and start executors if it has any."""

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


def build_role_spec(
    namespace: str, fragment: str, query: str, owner: Owner, executors: int = 0
) -> dict[str, Any]:
    """The rights of one fragment.

    Without executors these are `get` and `update` of one Lease by its name. With executors the driver
    also makes pods; the admission policy of the chart lets it make only its own kind.
    """
    rules: list[dict[str, Any]] = [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [names.object_name(fragment)],
            "verbs": ["get", "update", "watch"],
        }
    ]
    if executors:
        rules.append(
            {
                "apiGroups": [""],
                "resources": ["pods"],
                "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"],
            }
        )
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "rules": rules,
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
