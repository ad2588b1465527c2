"""What a StreamQuery names beside streams: its policy, its profile, its sink, and what its pods may have."""

from __future__ import annotations

from collections.abc import Iterator

from weir_placement.model.suggestion import suggestion

from weir_operator.api.policy import PlacementPolicy
from weir_operator.api.query import StreamQuery
from weir_operator.manifests.finding import Finding, Key
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.queries import key_of
from weir_operator.manifests.site import Site

EXECUTOR_VOLUMES = ("emptyDir", "persistentVolumeClaim", "secret")


def check_references(
    item: StreamQuery, objects: Objects, policy: PlacementPolicy | None, site: Site
) -> list[Finding]:
    """What is wrong with the policy, the profile and the sink that the query names."""
    key, namespace = key_of(item), item.metadata.namespace
    findings = [
        *site.outside(item.spec.sink.files, key, "spec.sink.files"),
        *site.login(item.spec.sink.kafka, key, "spec.sink.kafka"),
        *site.hidden(item, key),
        *site.alone(item, key),
        *site.scheduled(item, key),
        *site.shared(policy, item, key),
    ]
    if policy is None:
        right = suggestion(item.spec.policy, {"default", *objects.policies}, "policies")
        wrong = f"no PlacementPolicy {item.spec.policy}"
        findings.append(
            Finding.not_found(key, "spec.policy", wrong, right, Key("PlacementPolicy", "", item.spec.policy))
        )
    elif policy.spec.allowed_namespaces is not None and namespace not in policy.spec.allowed_namespaces:
        wrong = f"policy {policy.metadata.name} does not admit namespace {namespace}"
        right = "add the namespace to its allowedNamespaces, or use another policy"
        findings.append(Finding(key, "spec.policy", wrong, right, "NotAllowed"))
    findings += _executor_findings(item, policy)
    profile = item.spec.profile
    if profile and f"{namespace}/{profile}" not in objects.profiles:
        profiles = [name.split("/")[1] for name in objects.profiles if name.startswith(f"{namespace}/")]
        wrong, right = (
            f"no InputProfile {profile} in namespace {namespace}",
            suggestion(profile, profiles, "profiles"),
        )
        findings.append(
            Finding.not_found(key, "spec.profile", wrong, right, Key("InputProfile", namespace, profile))
        )
    return findings


def _executor_findings(item: StreamQuery, policy: PlacementPolicy | None) -> Iterator[Finding]:
    """Executors are pods that a fragment's own account creates: under no other account, and not with every
    kind of volume."""
    if policy is None or not item.spec.resources.executors:
        return
    template, path = policy.spec.pod_template, "spec.resources.executors"
    if template.service_account_name:
        wrong = f"policy {policy.metadata.name} sets the service account {template.service_account_name}"
        right = "executors need an account for each fragment: write 0, or use another policy"
        yield Finding(key_of(item), path, wrong, right, "NotAllowed")
    for volume in template.volumes:
        if not any(kind in volume for kind in EXECUTOR_VOLUMES):
            wrong = f"policy {policy.metadata.name} has the volume {volume.get('name', '')}"
            right = f"executors may only have {', '.join(EXECUTOR_VOLUMES)}: write 0, or use another policy"
            yield Finding(key_of(item), path, wrong, right, "NotAllowed")
