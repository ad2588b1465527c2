"""The driver's Pod: one for each fragment and epoch, pinned to the node that the plan chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.owner_references import OwnerReference, metadata
from weir_operator.manifests.site import Site

SPEC_PATH = "/etc/weir/fragment.json"
DATA_PATH = "/var/lib/weir"
SITE = Site(files=f"{DATA_PATH}/files", hosts=False)
SECRETS_PATH = "/etc/weir/secrets"

GRACE_SECONDS = 60  # a batch under way is committed before the process ends

_USER = 185  # of the images

RESTRICTED_POD: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "fsGroup": _USER,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What the `restricted` pod security standard requires of a pod."""

RESTRICTED_CONTAINER: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""What the `restricted` pod security standard requires of a container, and a read-only root file system."""


DRIVER = "driver"
"""Name of the container."""


@dataclass(frozen=True)
class DriverTemplate:
    """A PlacementPolicy's pod template, with the operator's defaults filled in.

    Image, account, volumes and security come only from here: never from a StreamQuery, which any
    tenant may write.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    service_account: str | None = None  # None: one of its own for each fragment
    claim: str | None = None  # ReadWriteMany claim of exchange and checkpoints, in the query's namespace
    pod_security: Mapping[str, Any] | None = None  # None: what the `restricted` standard requires
    container_security: Mapping[str, Any] | None = None
    priority_class: str | None = None
    runtime_class: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[Mapping[str, Any], ...] = ()
    volume_mounts: tuple[Mapping[str, Any], ...] = ()
    scratch_limit: str = "2Gi"
    installation: str = ""  # whose what the fragment leaves on shared storage is


@dataclass(frozen=True)
class Driver:
    """What differs from one driver to the next.

    `cpu` [cores] and `memory` [bytes] are of the driver, and of each of its executors; `tolerations`, `env`
    and `labels` are the query's own; `secrets` are names of Secrets in its namespace, mounted as files.
    """

    namespace: str
    fragment: str
    epoch: int
    node: str
    query: str
    spec: str  # the FragmentSpec as JSON
    build: str
    cpu: float
    memory: float
    owner: OwnerReference
    standby: bool = False
    tolerations: tuple[Mapping[str, Any], ...] = ()
    env: tuple[Mapping[str, Any], ...] = ()  # as in a container
    labels: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


def build_driver_pod_spec(driver: Driver, template: DriverTemplate) -> dict[str, Any]:
    """The Pod of a driver, as it is applied.

    `restartPolicy: OnFailure` restarts a crashed driver on its node, and does not restart one that has
    finished (a finite input); any other change is a new epoch and a new Pod. Its labels and annotations name
    the epoch, the node and the build, so that the operator reads what runs from the Pod alone.
    """
    own = names.labels(driver.fragment, driver.query, "driver") | {names.EPOCH: str(driver.epoch)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(
            names.pod_name(driver.fragment, driver.epoch),
            driver.namespace,
            dict(driver.labels) | dict(template.labels) | own,
            driver.owner,
            dict(template.annotations)
            | {
                names.FRAGMENT: driver.fragment,
                names.QUERY: driver.query,
                names.NODE: driver.node,
                names.BUILD: driver.build,
                names.SPEC: driver.spec,
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
            },
        ),
        "spec": pod_spec(driver, template, _container(driver, template), _volumes(driver, template)),
    }


def pod_spec(
    driver: Driver, template: DriverTemplate, container: dict[str, Any], volumes: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the pods of a fragment have in common: node, account, security."""
    security = dict(template.container_security or RESTRICTED_CONTAINER)
    spec: dict[str, Any] = {
        "affinity": pin_to(driver.node),
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "enableServiceLinks": False,
        "serviceAccountName": template.service_account or names.object_name(driver.fragment),
        "automountServiceAccountToken": True,  # it renews its Lease
        "securityContext": dict(template.pod_security or RESTRICTED_POD),
        "containers": [{**container, "securityContext": security}],
        "volumes": volumes,
        "tolerations": [dict(t) for t in driver.tolerations],
    }
    if template.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in template.pull_secrets]
    if template.priority_class:
        spec["priorityClassName"] = template.priority_class
    if template.runtime_class:
        spec["runtimeClassName"] = template.runtime_class
    return spec


def pin_to(node: str) -> dict[str, Any]:
    """Required affinity to one node by its name: a hostname label may differ from it."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _container(driver: Driver, template: DriverTemplate) -> dict[str, Any]:
    return {
        "name": DRIVER,
        "image": template.image,
        "imagePullPolicy": template.pull_policy,
        "args": ["python3", "-m", "weir_runtime", SPEC_PATH],
        "env": _environment(driver, template),
        "ports": [{"name": "metrics", "containerPort": names.RUNTIME_PORT, "protocol": "TCP"}],
        "resources": request(driver),
        "startupProbe": _probe("/healthz", period=2, failures=90),
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=2, failures=2),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "spec", "mountPath": SPEC_PATH.rsplit("/", 1)[0], "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},
            *mounts(driver, template),
        ],
    }


def request(driver: Driver) -> dict[str, Any]:
    """Memory is limited so that a leak hurts only this pod and not its neighbours; CPU is not: an idle core
    is free, and throttling would delay batches for nothing."""
    requests = {"cpu": f"{max(1, round(driver.cpu * 1000))}m", "memory": str(int(driver.memory))}
    return {"requests": requests, "limits": {"memory": requests["memory"]}}


def _environment(driver: Driver, template: DriverTemplate) -> list[dict[str, Any]]:
    own: list[dict[str, Any]] = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "WEIR_EPOCH", "value": str(driver.epoch)},
        {"name": "WEIR_LEASE", "value": names.object_name(driver.fragment)},
        {"name": "WEIR_STANDBY", "value": "true" if driver.standby else "false"},
        {"name": "WEIR_DATA", "value": DATA_PATH},
        {"name": names.INSTALLATION, "value": template.installation},
        {"name": "HOME", "value": "/tmp"},
        {"name": "SPARK_LOCAL_DIRS", "value": "/tmp"},
    ]
    reserved = {entry["name"] for entry in own}
    return own + [dict(entry) for entry in driver.env if entry["name"] not in reserved]


def _probe(path: str, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": names.RUNTIME_PORT},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _volumes(driver: Driver, template: DriverTemplate) -> list[dict[str, Any]]:
    spec = {
        "path": SPEC_PATH.rsplit("/", 1)[-1],
        "fieldRef": {"fieldPath": f"metadata.annotations['{names.SPEC}']"},
    }
    return [
        {"name": "spec", "downwardAPI": {"items": [spec]}},
        {"name": "scratch", "emptyDir": {"sizeLimit": template.scratch_limit}},
        *volumes(driver, template),
    ]


def volumes(driver: Driver, template: DriverTemplate) -> list[dict[str, Any]]:
    """What driver and executors share: the claim, the query's secrets, the policy's volumes."""
    shared: list[dict[str, Any]] = []
    if template.claim:
        shared.append({"name": "data", "persistentVolumeClaim": {"claimName": template.claim}})
    for i, name in enumerate(driver.secrets):
        shared.append({"name": f"secret-{i}", "secret": {"secretName": name, "defaultMode": 0o440}})
    return shared + [dict(volume) for volume in template.volumes]


def mounts(driver: Driver, template: DriverTemplate) -> list[dict[str, Any]]:
    """Where `volumes` are mounted."""
    shared: list[dict[str, Any]] = []
    if template.claim:
        shared.append({"name": "data", "mountPath": DATA_PATH})
    for i, name in enumerate(driver.secrets):
        shared.append({"name": f"secret-{i}", "mountPath": f"{SECRETS_PATH}/{name}", "readOnly": True})
    return shared + [dict(mount) for mount in template.volume_mounts]
