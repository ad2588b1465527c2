"""From a PlacementPolicy's pod template and the operator's settings to the template of a driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_operator.kube.driver_pod import DriverTemplate
from weir_operator.kube.settings import OperatorSettings


def template_of(policy: Mapping[str, Any] | None, settings: OperatorSettings) -> DriverTemplate:
    """`policy` is the object as the API server has it; None: the built-in one."""
    spec = (policy or {}).get("spec") or {}
    pod = spec.get("podTemplate") or {}
    files = (spec.get("exchange") or {}).get("files") or {}
    return DriverTemplate(
        installation=settings.installation,
        image=pod.get("image") or settings.runtime_image,
        pull_policy=pod.get("imagePullPolicy") or settings.runtime_pull_policy,
        pull_secrets=tuple(pod.get("imagePullSecrets") or settings.runtime_pull_secrets),
        service_account=pod.get("serviceAccountName"),
        claim=files.get("claim") or settings.claim,
        priority_class=pod.get("priorityClassName"),
        runtime_class=pod.get("runtimeClassName"),
        pod_security=pod.get("securityContext"),
        container_security=pod.get("containerSecurityContext"),
        labels=pod.get("labels") or {},
        annotations=pod.get("annotations") or {},
        volumes=tuple(pod.get("volumes") or ()),
        volume_mounts=tuple(pod.get("volumeMounts") or ()),
    )
