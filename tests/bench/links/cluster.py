"""What is put into the cluster beside Weir: brokers, feeders, the plain application."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tests.bench.links.queries import DELIVERY, ZONES
from tests.bench.links.shaping import ZONE
from tests.e2e.kubectl import Manifest

IMAGE, BROKER_IMAGE = "weir-runtime:dev", "kafka:dev"
DATA = "/data"
"""Where a pod sees the namespace's volume."""
FOLDER = f"{DATA}/links"
CONTROLLER = ZONES[0]
"""Whose broker is the controller too."""
MiB = 2**20

RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 185,
    "runAsGroup": 185,
    "fsGroup": 185,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def pod(
    name: str,
    image: str,
    zone: str | None,
    args: Sequence[str],
    memory: int,
    env: Mapping[str, str] | None = None,
    mounted: str = "data",
    cpu: int = 50,
) -> Manifest:
    """A restricted pod in a zone, or where the scheduler puts it. `memory` [MiB]; `mounted`: the namespace's
    volume (data) or a folder of its own (empty); `cpu` [millicores]."""
    fields = {"POD_IP": "status.podIP", "POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    values: list[dict[str, Any]] = [
        {"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in fields.items()
    ]
    values += [{"name": key, "value": value} for key, value in {"HOME": "/tmp", **(env or {})}.items()]
    claim = {"persistentVolumeClaim": {"claimName": "weir-exchange"}}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 2,
        "securityContext": RESTRICTED,
        "containers": [
            {
                "name": name.split("-")[0],
                "image": image,
                "args": list(args),
                "env": values,
                "resources": {
                    "requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"},
                    "limits": {"memory": f"{memory}Mi"},
                },
                "securityContext": CONTAINER,
                "volumeMounts": [
                    {"name": "data", "mountPath": DATA},
                    {"name": "scratch", "mountPath": "/tmp"},
                ],
            }
        ],
        "volumes": [
            {"name": "data", **(claim if mounted == "data" else {"emptyDir": {}})},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    if zone:
        spec["nodeSelector"] = {ZONE: zone}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": spec,
    }


def brokers() -> list[Manifest]:
    """One in each zone, which is its rack; clients everywhere know it by its zone's name."""
    voters = f"1@kafka-{CONTROLLER}:9093"
    manifests: list[Manifest] = []
    for number, zone in enumerate(ZONES, 1):
        name = f"kafka-{zone}"
        env = {
            "KAFKA_NODE": str(number),
            "KAFKA_RACK": zone,
            "KAFKA_HOST": name,
            "KAFKA_VOTERS": voters,
            "KAFKA_ROLES": "broker,controller" if zone == CONTROLLER else "broker",
            "KAFKA_CREATE_TOPICS": "false",
        }
        broker = pod(name, BROKER_IMAGE, zone, ["broker"], 1024, env, "empty")
        broker["spec"]["restartPolicy"] = "Always"
        (container,) = broker["spec"]["containers"]
        container["readinessProbe"] = {"tcpSocket": {"port": 9092}, "periodSeconds": 1}
        ports = [{"name": "clients", "port": 9092}, {"name": "controllers", "port": 9093}]
        service = {"selector": {"app": name}, "publishNotReadyAddresses": True, "ports": ports}
        manifests.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service})
        manifests.append(broker)
    return manifests


def ballast(zone: str) -> Manifest:
    """Each worker says that it has all of this machine's cores: two thirds of them are the other workers'."""
    cores = os.cpu_count() or 1
    others = 1000 * cores * (len(ZONES) - 1) // len(ZONES)
    return pod(f"ballast-{zone}", IMAGE, zone, ["sleep", "infinity"], 16, mounted="empty", cpu=others)


def feeder(zone: str) -> Manifest:
    """Sends the streams of a zone, from that zone: feeding uses no link."""
    return pod(f"feed-{zone}", IMAGE, zone, ["python3", f"{FOLDER}/feed.py", FOLDER, zone], 768)


def plain_job() -> Manifest:
    """The application in the delivery zone, whose driver does the work."""
    return pod("plain", IMAGE, DELIVERY, ["python3", f"{FOLDER}/plain.py", FOLDER], 2560, _spark())


def spark_application() -> list[Manifest]:
    """The same with executors; nothing says where it should run. Its driver may create pods."""
    driver = pod("plain", IMAGE, None, ["python3", f"{FOLDER}/plain.py", FOLDER], 2560, _spark())
    driver["spec"] |= {"serviceAccountName": "spark", "automountServiceAccountToken": True}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "spark"}}
    kinds = ["pods", "services", "configmaps", "persistentvolumeclaims"]
    rule = {"apiGroups": [""], "resources": kinds, "verbs": ["*"]}
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "spark"}, "rules": [rule]}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "spark"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "spark"},
        "subjects": [{"kind": "ServiceAccount", "name": "spark"}],
    }
    return [account, role, binding, driver]


def executor_template() -> Manifest:
    """Of its executors: restricted, with the checkpoints' volume, and without any affinity."""
    template = pod("executor", IMAGE, None, [], 1536, {"SPARK_LOCAL_DIRS": "/tmp"})
    (container,) = template["spec"]["containers"]
    del container["args"]
    container["env"] = [entry for entry in container["env"] if "value" in entry]
    scratch = "spark-local-dir-1"  # Spark recognises this name and mounts no scratch of its own
    container["volumeMounts"][1]["name"] = template["spec"]["volumes"][1]["name"] = scratch
    template["metadata"] = {"labels": {"app": "plain-executor"}}
    return template


def _spark() -> dict[str, str]:
    return {"IMAGE": IMAGE, "SPARK_LOCAL_DIRS": "/tmp"}
