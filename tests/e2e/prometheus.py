"""A Prometheus in the namespace of a test, which scrapes the drivers there."""

from __future__ import annotations

import json
from urllib.parse import quote

from weir_operator.kube import names

from tests.e2e.flights import ON_CONTROL_PLANE
from tests.e2e.kubectl import Manifest, kubectl

PORT = 9090
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
CONFIG = """
global: {{scrape_interval: 5s}}
scrape_configs:
- job_name: fragments
  dns_sd_configs:
  - {{names: [drivers.{namespace}.svc.cluster.local], type: A, port: {port}, refresh_interval: 5s}}
"""


def url(namespace: str) -> str:
    """Where the operator finds it."""
    return f"http://prometheus.{namespace}.svc:{PORT}"


def manifests(namespace: str) -> list[Manifest]:
    """All that it needs. Debian's package cannot ask the API server for pods, so DNS names the drivers."""

    def made(kind: str, version: str, name: str = "prometheus", **more: object) -> Manifest:
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": version, "kind": kind, "metadata": meta, **more}

    labels = {"app": "prometheus"}
    drivers = {names.MANAGED_BY: names.FIELD_MANAGER, names.ROLE: "driver"}
    config = CONFIG.format(namespace=namespace, port=names.RUNTIME_PORT)
    ports = [{"port": names.RUNTIME_PORT}]
    pod = {"metadata": {"labels": labels}, "spec": _pod()}
    return [
        made("Service", "v1", "drivers", spec={"clusterIP": "None", "selector": drivers, "ports": ports}),
        made("ConfigMap", "v1", data={"prometheus.yml": config}),
        made("Deployment", "apps/v1", spec={"selector": {"matchLabels": labels}, "template": pod}),
        made("Service", "v1", spec={"selector": labels, "ports": [{"port": PORT}]}),
    ]


def _pod() -> Manifest:
    container = {
        "name": "prometheus",
        "image": "prometheus:dev",
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": PORT}, "periodSeconds": 2},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": RESTRICTED,
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/prometheus"},
            {"name": "data", "mountPath": "/data"},
        ],
    }
    return {
        **ON_CONTROL_PLANE,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 185,
            "runAsGroup": 185,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "config", "configMap": {"name": "prometheus"}},
            {"name": "data", "emptyDir": {}},
        ],
    }


def labels_of(namespace: str, expression: str, label: str) -> set[str]:
    """What a label of an expression's series says, as Prometheus has them now."""
    service = f"/api/v1/namespaces/{namespace}/services/prometheus:{PORT}/proxy"
    output = kubectl("get", "--raw", f"{service}/api/v1/query?query={quote(expression)}")
    return {series["metric"].get(label, "") for series in json.loads(output)["data"]["result"]}
