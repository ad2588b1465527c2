"""What a driver may do at the API server: keep its own Lease; with executors, also ask for their Pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.owner_references import OwnerReference, metadata

_RBAC = "rbac.authorization.k8s.io"


EXECUTOR_RIGHTS: Mapping[str, str] = {
    "create": "Spark asks for executors; the chart's ValidatingAdmissionPolicy says which it may have",
    "get": "Spark reads the driver's pod, which owns the executors",
    "list": "executors of earlier lives are found, and Spark looks again every 30 seconds",
    "watch": "an executor that dies is replaced",
    "delete": "executors of earlier lives, and those that never register; by that policy no other pods",
}
"""Verbs on the pods of its namespace that a driver with executors has, with their reasons."""


def build_service_account_spec(
    namespace: str,
    fragment: str,
    query: str,
    owner: OwnerReference,
    executors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An account of the fragment's own; the token is mounted by the Pod that asks for it.

    `executors`: what its executors may have (`account_annotations`); None: it has none.
    """
    labels = names.labels(fragment, query) | ({} if executors is None else {names.EXECUTORS: "true"})
    notes = dict(executors) if executors is not None else None
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(names.object_name(fragment), namespace, labels, owner, notes),
        "automountServiceAccountToken": False,
    }


def build_role_spec(
    namespace: str, fragment: str, query: str, owner: OwnerReference, executors: bool = False
) -> dict[str, Any]:
    """The rights of one fragment: its own Lease by name. A stolen token opens nothing else, but pods of
    executors where there are any."""
    rules: list[dict[str, Any]] = [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": [names.object_name(fragment)],
            "verbs": ["get", "update", "watch"],
        }
    ]
    if executors:
        rules.append({"apiGroups": [""], "resources": ["pods"], "verbs": list(EXECUTOR_RIGHTS)})
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(names.object_name(fragment), namespace, names.labels(fragment, query), owner),
        "rules": rules,
    }


def build_role_binding_spec(
    namespace: str, fragment: str, query: str, owner: OwnerReference, account: str | None = None
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
