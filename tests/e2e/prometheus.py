"""A Prometheus in the namespace of a test, which finds the drivers there as a PodMonitor would."""

from __future__ import annotations

import json
from urllib.parse import quote

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
  kubernetes_sd_configs: [{{role: pod, namespaces: {{names: [{namespace}]}}}}]
  relabel_configs:
  - {{source_labels: [__meta_kubernetes_pod_label_weir_dev_role], regex: driver, action: keep}}
  - {{source_labels: [__meta_kubernetes_pod_container_port_name], regex: metrics, action: keep}}
"""


def url(namespace: str) -> str:
    """Where the operator finds it."""
    return f"http://prometheus.{namespace}.svc:{PORT}"


def manifests(namespace: str) -> list[Manifest]:
    """All that it needs, with the right to list the namespace's pods and no other."""

    def made(kind: str, version: str, **more: object) -> Manifest:
        meta = {"name": "prometheus", "namespace": namespace}
        return {"apiVersion": version, "kind": kind, "metadata": meta, **more}

    rbac = "rbac.authorization.k8s.io"
    labels = {"app": "prometheus"}
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    pod = {"metadata": {"labels": labels}, "spec": _pod()}
    return [
        made("ConfigMap", "v1", data={"prometheus.yml": CONFIG.format(namespace=namespace)}),
        made("ServiceAccount", "v1"),
        made("Role", f"{rbac}/v1", rules=[pods]),
        made(
            "RoleBinding",
            f"{rbac}/v1",
            roleRef={"apiGroup": rbac, "kind": "Role", "name": "prometheus"},
            subjects=[{"kind": "ServiceAccount", "name": "prometheus", "namespace": namespace}],
        ),
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
        "serviceAccountName": "prometheus",
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
    told = kubectl("get", "--raw", f"{service}/api/v1/query?query={quote(expression)}")
    return {series["metric"].get(label, "") for series in json.loads(told)["data"]["result"]}
