"""What a host on a node has in the cluster: what it shall run, what it says, its Lease, account and Pod.

The first of them, a ConfigMap, is owned by the Placements of the queries in it, and owns the others: they go
when the last of these queries has gone, also while no operator runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from weir_placement.model.fragment import FragmentSpec

from weir_operator.kube import names
from weir_operator.kube.driver_pod import Driver, DriverTemplate, build_driver_pod_spec
from weir_operator.kube.owner_references import OwnerReference, class_label
from weir_operator.manifests.requests import JVM_OVERHEAD, LEAST_CPU

_RBAC = "rbac.authorization.k8s.io"

OWN_HEAP_MB = 512
"""Of a host that runs nothing."""

FRAGMENT_HEAP_MB = 64
"""Of a fragment in a host, beside what its state takes."""

FRAGMENT_MEMORY_MB = 90
"""Of a fragment in a host outside of the heap: Python's interpreters and workers."""

HEAP_MB = 1024
"""Of every host, but one whose first fragment needs more. A further one beside a full one is no larger: a
node that has room for one may have none for twice as much."""

GRACE_SECONDS = 90
"""A host waits for the batches under way of all it runs, and longer for a query to stop than a process."""

STATE_SUFFIX = "-state"


@dataclass(frozen=True)
class HostPlan:
    """A host that is to be made.

    Attributes:
        driver: what its Pod is made from: fragment is its name, spec its HostSpec.
        sharing: the hash of what all that run in it have in common.
        heap_mb: of its JVM.
    """

    driver: Driver
    template: DriverTemplate
    sharing: str
    heap_mb: int

    @property
    def name(self) -> str:
        """Of its Pod and of what belongs to that."""
        return self.driver.fragment


def heap_need(spec: FragmentSpec) -> int:
    """[MiB] of a host's heap that a fragment takes: as much as it would have beyond the least of a process of
    its own, where that is its state."""
    return FRAGMENT_HEAP_MB + max(0, spec.heap_mb - OWN_HEAP_MB)


def sharing_class(policy: str, driver: Driver, template: DriverTemplate) -> str:
    """The hash of what must be equal for two fragments to share a host, beside their node: all that their
    Pods would differ in."""
    own = asdict(template) | {
        "namespace": driver.namespace,
        "policy": policy,
        "tolerations": driver.tolerations,
        "env": driver.env,
        "pod labels": driver.labels,
        "secrets": driver.secrets,
    }
    return hashlib.sha256(json.dumps(own, sort_keys=True, default=str).encode()).hexdigest()[:8]


def heap_for(spec: FragmentSpec) -> int:
    """[MiB] of a host in which `spec` is the first to run."""
    return max(HEAP_MB, OWN_HEAP_MB + heap_need(spec))


def plan_host(
    driver: Driver, template: DriverTemplate, sharing: str, number: int, spec: FragmentSpec, heap: int
) -> HostPlan:
    """The host `number` (from 1) of a class on a node, with a heap of so many MiB, that is to run `spec`."""
    fragments = (heap - OWN_HEAP_MB) // FRAGMENT_HEAP_MB
    memory = (heap + FRAGMENT_MEMORY_MB * fragments) * 2**20 + JVM_OVERHEAD
    name = host_name(driver.node, sharing, number)
    cores = max(2, spec.cores)
    where = f"kubernetes:{driver.namespace}/{name}"
    about = {
        "name": name,
        "lease": where,
        "desired": where,
        "state": f"{where}{STATE_SUFFIX}",
        "cores": cores,
        "heap_mb": heap,
        "lease_seconds": spec.lease_seconds,
        "port": names.RUNTIME_PORT,
    }
    cpu = max(driver.cpu, LEAST_CPU * fragments)
    host = replace(
        driver, fragment=name, epoch=0, spec=json.dumps(about), cpu=cpu, memory=memory, standby=False
    )
    return HostPlan(host, template, sharing, heap)


def host_name(node: str, sharing: str, number: int) -> str:
    """Of the host `number` of a class on a node.

    >>> host_name("n1", "0a1b2c3d", 1)
    'host-n1-0a1b2c3d-676b-1'
    """
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in node.lower())[:24].strip("-")
    return f"host-{label}-{sharing}-{hashlib.sha256(node.encode()).hexdigest()[:4]}-{number}"


def build_orders_spec(plan: HostPlan, owner: OwnerReference) -> dict[str, Any]:
    """The ConfigMap with an entry for each fragment that the host shall run; none yet."""
    driver = plan.driver
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": plan.name,
            "namespace": driver.namespace,
            "labels": labels(plan.name, "host-orders") | owner.labels(),
            "annotations": {
                names.NODE: driver.node,
                names.SHARING: plan.sharing,
                names.HEAP: str(plan.heap_mb),
            },
            "ownerReferences": [owner.reference(controller=False)],
        },
        "data": {},
    }


def labels(host: str, role: str) -> dict[str, str]:
    """Of what belongs to a host."""
    return {
        names.MANAGED_BY: names.FIELD_MANAGER,
        "app.kubernetes.io/name": names.FIELD_MANAGER,
        names.HOST: host,
        names.ROLE: role,
    }


def belongings(plan: HostPlan, orders: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """What the Pod needs, in an order in which each has what it needs."""
    name, namespace = plan.name, plan.driver.namespace

    def of(kind: str, version: str, own: str = name, **more: Any) -> dict[str, Any]:
        meta: dict[str, Any] = {"name": own, "namespace": namespace}
        meta["labels"] = _labels(orders, name, "host")
        meta["ownerReferences"] = [_owner(orders).reference()]
        return {"apiVersion": version, "kind": kind, "metadata": meta, **more}

    state = of("ConfigMap", "v1", f"{name}{STATE_SUFFIX}")
    state["metadata"]["labels"][names.ROLE] = "host-state"
    yield state
    yield of("Lease", "coordination.k8s.io/v1")
    if not plan.template.service_account:
        yield of("ServiceAccount", "v1", automountServiceAccountToken=False)
    yield of("Role", f"{_RBAC}/v1", rules=_rules(name))
    subject = account(plan.template.service_account or name, namespace)
    yield of("RoleBinding", f"{_RBAC}/v1", roleRef=_role(name), subjects=[subject])
    # Who follows a holder in this host asks whether that still lives: any driver of the namespace.
    lease = _rule("coordination.k8s.io", "leases", name, "get")
    yield of("Role", f"{_RBAC}/v1", f"{name}-lease", rules=[lease])
    group = {"kind": "Group", "apiGroup": _RBAC, "name": f"system:serviceaccounts:{namespace}"}
    yield of("RoleBinding", f"{_RBAC}/v1", f"{name}-lease", roleRef=_role(f"{name}-lease"), subjects=[group])


def account(name: str, namespace: str) -> dict[str, str]:
    """As a subject of a RoleBinding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def _rules(name: str) -> list[dict[str, Any]]:
    """Of a host's account: its own Lease and two ConfigMaps. Each fragment's Role is bound to it as well."""
    return [
        _rule("coordination.k8s.io", "leases", name, "get", "update", "watch"),
        _rule("", "configmaps", name, "get", "watch"),
        _rule("", "configmaps", f"{name}{STATE_SUFFIX}", "get", "update"),
    ]


def _rule(group: str, resource: str, name: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": list(verbs)}


def _role(name: str) -> dict[str, str]:
    return {"apiGroup": _RBAC, "kind": "Role", "name": name}


def _owner(orders: Mapping[str, Any]) -> OwnerReference:
    meta = orders["metadata"]
    return OwnerReference(meta["name"], meta["uid"], "ConfigMap", "v1")


def _labels(orders: Mapping[str, Any], name: str, role: str) -> dict[str, str]:
    return labels(name, role) | class_label(orders["metadata"]["labels"].get(names.CLASS, ""))


def build_host_pod_spec(plan: HostPlan, orders: Mapping[str, Any], life: str) -> dict[str, Any]:
    """The Pod: a driver's, but for the program and what it is told.

    Args:
        life: that no other Pod of this name ever had. It is part of the machine's name, by which a process
            knows that a holder is gone: so nobody is taken for gone whose Pod was only removed from the API.
    """
    pod = build_driver_pod_spec(replace(plan.driver, owner=_owner(orders)), plan.template)
    meta, spec = pod["metadata"], pod["spec"]
    for label in (names.FRAGMENT, names.QUERY, names.EPOCH):
        del meta["labels"][label]
    for note in (names.FRAGMENT, names.QUERY, names.BUILD):
        del meta["annotations"][note]
    meta["name"] = plan.name
    meta["labels"] |= _labels(orders, plan.name, "host")
    spec |= {
        "hostname": f"{plan.name[:40].rstrip('-')}-{life}",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "serviceAccountName": plan.template.service_account or plan.name,
    }
    container = spec["containers"][0]
    container["args"] = ["python3", "-m", "weir_runtime.host", *container["args"][3:]]
    uid = {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
    of_a_fragment = ("WEIR_EPOCH", "WEIR_LEASE", "WEIR_STANDBY")
    container["env"] = [uid, *(entry for entry in container["env"] if entry["name"] not in of_a_fragment)]
    return pod
