"""The two API servers that every scenario here is played on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from weir_operator.kube.api import Api, path_of
from weir_operator.kube.rights import RIGHTS, Right

from tests.api_server.server import OPERATOR, ApiServer
from tests.kube.memory import Manifest, Memory
from tests.kube.memory_rules import VERSIONS

CLUSTER_WIDE = ("Node", "PlacementPolicy", "NetworkTopology")
RBAC = "rbac.authorization.k8s.io"

_numbers = itertools.count(1)


class ApiUnderTest(Protocol):
    """One namespace of an API server. `api` is the operator with the rights of the chart, `admin` may
    everything."""

    namespace: str

    @property
    def api(self) -> Api: ...

    @property
    def admin(self) -> Api: ...

    def bind(self, pod: str, node: str) -> None:
        """As the scheduler does."""
        ...

    def end(self, pod: str) -> None:
        """A pod that was being deleted, or was not, is gone: as its kubelet says."""
        ...


@dataclass
class InMemory:
    memory: Memory
    namespace: str

    @property
    def api(self) -> Api:
        return self.memory.with_rights(RIGHTS).api

    @property
    def admin(self) -> Api:
        return self.memory.api

    def bind(self, pod: str, node: str) -> None:
        self.memory.objects["Pod", self.namespace, pod]["spec"]["nodeName"] = node

    def end(self, pod: str) -> None:
        del self.memory.objects["Pod", self.namespace, pod]


@dataclass
class OnServer:
    server: ApiServer
    namespace: str

    def __post_init__(self) -> None:
        self.api, self.admin = self.server.api(OPERATOR), self.server.api("admin")

    def bind(self, pod: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        self.admin.call("POST", path_of("Pod", self.namespace, pod, "binding"), body)

    def end(self, pod: str) -> None:
        self.admin.call("DELETE", path_of("Pod", self.namespace, pod), {"gracePeriodSeconds": 0})


def new_namespace() -> str:
    """That no other test has."""
    return f"t{next(_numbers)}"


def played(target: ApiUnderTest) -> Iterator[ApiUnderTest]:
    """One of them, with its namespace, and the account that a controller makes there; what is in no namespace
    goes with the test."""
    assert target.admin.create(manifest("Namespace", "", target.namespace))
    assert target.admin.create(manifest("ServiceAccount", target.namespace, "default"))
    yield target
    for kind in CLUSTER_WIDE:
        for thing in list(target.admin.list(kind)):
            target.admin.delete(kind, "", thing["metadata"]["name"])


def manifest(kind: str, namespace: str, name: str, **more: Any) -> Manifest:
    """With the version that the kind has, and whatever else is given, `metadata` beside its name."""
    weir = kind in (
        "Stream",
        "StreamQuery",
        "InputProfile",
        "PlacementPolicy",
        "NetworkTopology",
        "Placement",
        "QuerySnapshot",
    )
    version = "weir.dev/v1alpha1" if weir else VERSIONS.get(kind, "v1")
    where = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, **more, "metadata": {**more.get("metadata", {}), **where}}


def grants() -> list[Manifest]:
    """The operator's rights, as the chart gives them when it watches all namespaces."""
    subject = {"apiGroup": RBAC, "kind": "User", "name": OPERATOR}
    role_ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": OPERATOR}
    version = f"{RBAC}/v1"
    rules = [_rule(right) for right in RIGHTS]
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": OPERATOR}, "rules": rules},
        {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": OPERATOR},
         "roleRef": role_ref, "subjects": [subject]},
    ]  # fmt: skip


def _rule(right: Right) -> dict[str, Any]:
    rule = {"apiGroups": [right.group], "resources": list(right.resources), "verbs": list(right.verbs)}
    return {**rule, **({"resourceNames": list(right.only)} if right.only else {})}
