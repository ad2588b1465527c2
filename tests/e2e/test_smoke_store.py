"""The smoke test once more, with flows on an object store: right to the row, and no object is left."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e import flights
from tests.e2e.conftest import SHARED, uninstall
from tests.e2e.flights import ON_CONTROL_PLANE
from tests.e2e.kubectl import CACHE, REPOSITORY, wait_until
from tests.e2e.reference import judge
from tests.e2e.test_smoke import HOURS, SPEED, assert_nothing_is_left

BUCKET, PREFIX, PORT = "flows", "weir", 7070
KEYS = {"AWS_ACCESS_KEY_ID": "weir", "AWS_SECRET_ACCESS_KEY": "of the smoke test"}
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def test_flights_over_a_store_are_right_to_the_row_and_leave_no_object(
    isolation: str, namespace: str
) -> None:
    data = prepare(SHARED / namespace)
    objects = flights.manifests(namespace, HOURS, SPEED)
    policy = flights.policy_of(objects)
    policy["spec"]["fragments"] = {"isolation": isolation}
    reached = {"endpoint": f"http://s3:{PORT}", "secretRef": "bucket-login"}
    policy["spec"]["exchange"] = {"files": {"uri": f"s3://{BUCKET}/{PREFIX}", "s3": reached}}
    flights.run(namespace, objects + server(namespace))

    victim = flights.workers(namespace)[0]["metadata"]["name"]
    flights.kill(namespace, victim)
    wait_until(300, f"{victim} runs again", lambda: flights.restarted_and_ready(namespace, victim))
    assert flows(data, namespace), "flows are objects"
    assert not (SHARED / namespace / "exchange" / namespace).exists(), "and no files"

    judge(namespace, 300)
    assert not flights.off_their_pin(namespace)

    uninstall()
    assert_nothing_is_left(namespace)
    assert flows(data, namespace) == []


def prepare(folder: Path) -> Path:
    """The program and its empty bucket on the namespace's volume; where the bucket is."""
    subprocess.run(["hack/tools", "versitygw"], check=True, cwd=REPOSITORY)
    shutil.copy(CACHE / "bin" / "versitygw", folder / "versitygw")
    bucket = folder / "s3" / "data" / BUCKET
    bucket.mkdir(parents=True)
    (folder / "s3" / "metadata").mkdir()
    for path in (folder / "s3", bucket.parent, bucket, folder / "s3" / "metadata"):
        path.chmod(0o777)  # the pod is not root
    return bucket


def server(namespace: str) -> list[dict[str, Any]]:
    """An S3 server beside the control plane, in an image that is there: it needs none of its own."""
    meta = {"name": "s3", "namespace": namespace}
    program = ["/data/versitygw", "--port", f":{PORT}", "--quiet"]
    program += ["--access", KEYS["AWS_ACCESS_KEY_ID"], "--secret", KEYS["AWS_SECRET_ACCESS_KEY"]]
    container = {
        "name": "s3",
        "image": "kafka:dev",
        "command": [*program, "posix", "--sidecar", "/data/s3/metadata", "/data/s3/data"],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": RESTRICTED,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "scratch", "mountPath": "/tmp"}],
    }
    pod = {
        **ON_CONTROL_PLANE,
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 185,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "weir-exchange"}},
            {"name": "scratch", "emptyDir": {}},
        ],
    }
    labels = {"app": "s3"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    ports = {"selector": labels, "ports": [{"port": PORT}]}
    login = {"metadata": {"name": "bucket-login", "namespace": namespace}, "stringData": KEYS}
    return [
        {"apiVersion": "v1", "kind": "Secret", **login},
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": ports},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec},
    ]


def flows(bucket: Path, namespace: str) -> list[str]:
    """Objects of the namespace's flows."""
    below = bucket / PREFIX / namespace
    return sorted(str(path.relative_to(below)) for path in below.rglob("*") if path.is_file())
