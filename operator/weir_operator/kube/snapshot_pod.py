"""The pod that takes, reads, removes or restores one snapshot where the query's volume is mounted.

It is the runtime's image, as the drivers are: the operator mounts nobody's volume and has nobody's keys.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from weir_placement.model.location import FOLDER, STORE, Location

from weir_operator.controller.ports import Refused
from weir_operator.controller.raw_fields import part
from weir_operator.kube import names
from weir_operator.kube.driver_pod import (
    DATA_PATH,
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    SECRETS_PATH,
    DriverTemplate,
)
from weir_operator.kube.fragment import secrets_in
from weir_operator.kube.owner_references import OwnerReference, metadata

OWN_CLAIM = "/var/lib/weir-snapshots"
"""Where a claim is mounted that a QuerySnapshot names."""
SNAPSHOTS = f"{DATA_PATH}/snapshots"
"""Where snapshots lie on the fragments' claim, and those of stores are put together."""
JOB = f"{names.GROUP}/job"
"""Annotation: what it is to do, mounted as a file."""
JOB_PATH = "/etc/weir/job"
DEADLINE_SECONDS = 6 * 3600
LONGEST_JOB = 200_000
"""Of the 262,144 bytes that all annotations of an object may have."""
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class SnapshotMount:
    """Where a QuerySnapshot says that it lies: what is mounted, and what the job is told.

    Attributes:
        location: a folder in the pod, or a store.
        claim: mounted at `OWN_CLAIM`; "": none.
    """

    location: Location
    claim: str = ""

    @staticmethod
    def of(spec: Mapping[str, Any]) -> SnapshotMount:
        """Of the raw spec."""
        place = part(spec, "place")
        if store := part(place, "store"):
            return SnapshotMount(Location(STORE, str(store["uri"]).rstrip("/"), dict(part(store, "s3"))))
        if claim := place.get("claim"):
            return SnapshotMount(Location(FOLDER, OWN_CLAIM), str(claim))
        return SnapshotMount(Location(FOLDER, SNAPSHOTS))


def job_of(verb: str, lies: str, place: SnapshotMount, **more: Any) -> str:
    """The text of a `weir_runtime.snapshots.job.Job`. Raises Refused when it is too long for a pod."""
    where = {"place": asdict(place.location), "staging": f"{SNAPSHOTS}/.staged"}
    job = json.dumps({"verb": verb, "snapshot": lies, **where, **more}).encode()
    text = base64.b64encode(gzip.compress(job, mtime=0)).decode()
    if len(text) > LONGEST_JOB:
        raise Refused(
            f"its plan has {len(text)} bytes, compressed; a pod may be told {LONGEST_JOB}: "
            "split the query into smaller ones"
        )
    return text


def build_snapshot_pod_spec(
    name: str,
    namespace: str,
    role: str,
    owner: OwnerReference,
    notes: Mapping[str, str],
    place: SnapshotMount,
    template: DriverTemplate,
    account: bool,
) -> dict[str, Any]:
    """The Pod, once: whether it is tried again is the operator's affair. With `account` it runs under the
    account of its name, which may write the QuerySnapshot; otherwise it knows nothing of the API server."""
    labels = {names.MANAGED_BY: names.FIELD_MANAGER, names.ROLE: role}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, namespace, dict(template.labels) | labels, owner, dict(notes)),
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "terminationGracePeriodSeconds": 1,  # whatever it leaves undone the next one does
            "automountServiceAccountToken": account,
            **({"serviceAccountName": name} if account else {}),
            "enableServiceLinks": False,
            "imagePullSecrets": [{"name": secret} for secret in template.pull_secrets],
            "securityContext": dict(template.pod_security or RESTRICTED_POD),
            "containers": [_container(template, place)],
            "volumes": _volumes(template, place),
        },
    }


def _container(template: DriverTemplate, place: SnapshotMount) -> dict[str, Any]:
    own = [{"name": "own", "mountPath": OWN_CLAIM}] if place.claim else []
    return {
        "name": "snapshot",
        "image": template.image,
        "imagePullPolicy": template.pull_policy,
        "args": ["python3", "-m", "weir_runtime.snapshots", f"{JOB_PATH}/job"],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": dict(template.container_security or RESTRICTED_CONTAINER),
        "env": [{"name": names.INSTALLATION, "value": template.installation}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "job", "mountPath": JOB_PATH, "readOnly": True},
            {"name": "data", "mountPath": DATA_PATH},
            *own,
            *(
                {"name": f"secret-{i}", "mountPath": f"{SECRETS_PATH}/{secret}", "readOnly": True}
                for i, secret in enumerate(secrets_in(place.location.options))
            ),
        ],
    }


def _volumes(template: DriverTemplate, place: SnapshotMount) -> list[dict[str, Any]]:
    job = {"path": "job", "fieldRef": {"fieldPath": f"metadata.annotations['{JOB}']"}}
    own = [{"name": "own", "persistentVolumeClaim": {"claimName": place.claim}}] if place.claim else []
    return [
        {"name": "job", "downwardAPI": {"items": [job]}},
        {"name": "data", "persistentVolumeClaim": {"claimName": template.claim}},
        *own,
        *(
            {"name": f"secret-{i}", "secret": {"secretName": secret, "defaultMode": 0o440}}
            for i, secret in enumerate(secrets_in(place.location.options))
        ),
    ]


def build_rights(name: str, namespace: str, snapshot: str, owner: OwnerReference) -> Sequence[dict[str, Any]]:
    """Account, Role and RoleBinding of a pod: it may read its QuerySnapshot and write its status."""
    meta = metadata(name, namespace, {names.MANAGED_BY: names.FIELD_MANAGER}, owner)
    only = {"apiGroups": [names.GROUP], "resourceNames": [snapshot]}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": name}
    return (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": meta,
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": meta,
            "rules": [
                {**only, "resources": ["querysnapshots"], "verbs": ["get"]},
                {**only, "resources": ["querysnapshots/status"], "verbs": ["update"]},
            ],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
    )
