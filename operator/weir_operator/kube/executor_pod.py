"""Executors of a fragment: the template of their Pods, and the account under which its driver creates them.

Spark creates the Pods, with the driver's account. What they may have is written on the account, where the
chart's ValidatingAdmissionPolicy reads it (docs/security.md): nothing beyond the template.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from weir_operator.kube import names
from weir_operator.kube.driver_pod import Driver, DriverTemplate, mounts, pod_spec, request, volumes

CONTAINER = "executor"
SCRATCH = "spark-local-dir-1"  # Spark recognises the name, and does not mount a volume of its own over it

IMAGE = f"{names.GROUP}/image"
PULL_SECRETS = f"{names.GROUP}/pull-secrets"
CLAIMS = f"{names.GROUP}/claims"
SECRETS = f"{names.GROUP}/secrets"
PRIORITY = f"{names.GROUP}/priority-class"
RUNTIME = f"{names.GROUP}/runtime-class"


def build_executor_template(driver: Driver, template: DriverTemplate) -> dict[str, Any]:
    """What every executor's Pod has; Spark adds its name, owner, environment variables and ports."""
    own = names.labels(driver.fragment, driver.query, "executor") | {names.EPOCH: str(driver.epoch)}
    own |= driver.owner.labels()
    container = {
        "name": CONTAINER,
        "image": template.image,
        "imagePullPolicy": template.pull_policy,
        "env": [{"name": "HOME", "value": "/tmp"}]
        + [dict(e) for e in driver.env if "value" in e and e["name"] != "HOME"],  # no secrets: security.md
        "resources": request(driver),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": SCRATCH, "mountPath": "/tmp"}, *mounts(driver, template)],
    }
    scratch = {"name": SCRATCH, "emptyDir": {"sizeLimit": template.scratch_limit}}
    spec = pod_spec(driver, template, container, [scratch, *volumes(driver, template)])
    spec |= {"restartPolicy": "Never", "automountServiceAccountToken": False}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": dict(driver.labels) | dict(template.labels) | own,
            "annotations": dict(template.annotations)
            | {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"},
        },
        "spec": spec,
    }


def account_annotations(driver: Driver, template: DriverTemplate) -> dict[str, str]:
    """What executors may have, for the ValidatingAdmissionPolicy: lists are separated by commas."""
    mountable: dict[str, list[str]] = {"persistentVolumeClaim": [], "secret": []}
    for volume in volumes(driver, template):
        for kind, key in (("persistentVolumeClaim", "claimName"), ("secret", "secretName")):
            if kind in volume:
                mountable[kind].append(volume[kind][key])
    return {
        IMAGE: template.image,
        PULL_SECRETS: ",".join(template.pull_secrets),
        CLAIMS: ",".join(mountable["persistentVolumeClaim"]),
        SECRETS: ",".join(mountable["secret"]),
        PRIORITY: template.priority_class or "",
        RUNTIME: template.runtime_class or "",
    }


def with_executors(pod: Mapping[str, Any], driver: Driver, template: DriverTemplate) -> dict[str, Any]:
    """The driver's Pod with what it needs for executors: their template as a file, its own uid, ports."""
    meta, spec = pod["metadata"], pod["spec"]
    (container,) = spec["containers"]
    text = json.dumps(build_executor_template(driver, template))
    file = {
        "path": names.EXECUTOR_PATH.rsplit("/", 1)[-1],
        "fieldRef": {"fieldPath": f"metadata.annotations['{names.EXECUTOR}']"},
    }
    own = [
        {"name": "POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        {"name": "WEIR_EXECUTOR_TEMPLATE", "value": names.EXECUTOR_PATH},
    ]
    ports = [
        {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in names.SPARK_PORTS.items()
    ]
    with_template = [
        {**v, "downwardAPI": {"items": [*v["downwardAPI"]["items"], file]}} if "downwardAPI" in v else v
        for v in spec["volumes"]
    ]
    container = {**container, "env": [*container["env"], *own], "ports": [*container["ports"], *ports]}
    return {
        **pod,
        "metadata": {**meta, "annotations": meta["annotations"] | {names.EXECUTOR: text}},
        "spec": {**spec, "containers": [container], "volumes": with_template},
    }
