"""What a driver may do at the API server: keep its own Lease; with executors, also manage their Pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.owner_references import OwnerReference, metadata

_RBAC = "rbac.authorization.k8s.io"


EXECUTOR_RIGHTS: Mapping[str, str] = {
    "create": "Spark creates executors; the chart's ValidatingAdmissionPolicy says which it may create",
    "get": "Spark reads the driver's pod, which owns the executors",
    "list": "Spark finds executors of earlier runs, and checks on its own every 30 seconds",
    "watch": "an executor that dies is replaced",
    "delete": "executors of earlier runs, and those that never register; that policy excludes all other pods",
}
"""Verbs on the pods of its namespace that a driver with executors has, with their reasons."""


def build_service_account_spec(
    namespace: str,
    fragment: str,
    query: str,
    owner: OwnerReference,
    executors: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An account of the fragment's own; only Pods that request its token have it mounted.

    `executors`: what its executors may have (`account_annotations`); None: it has no executors.
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
    """The rights of one fragment: its own Lease by name. A stolen token gives access to nothing else, except
    to pods of executors where the fragment has any."""
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
    namespace: str,
    fragment: str,
    query: str,
    owner: OwnerReference,
    account: str | None = None,
    more: Iterable[str] = (),
) -> dict[str, Any]:
    """Binds the fragment's Role to its account, or to `account` when the policy names one, and to `more`,
    those of its hosts."""
    name = names.object_name(fragment)
    accounts = [account or name, *(() if account else more)]
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(name, namespace, names.labels(fragment, query), owner),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": each, "namespace": namespace} for each in accounts],
    }
